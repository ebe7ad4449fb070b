#!/bin/bash
source ./lib/common.sh
. "other.sh"
LIMIT=10
readonly VERSION="1"
export PATH_EXTRA=/opt
declare -A table=([a]=1)
alias ll='ls -l'

plain() { local inner=1; echo "fake() { }"; }
function keyword { echo hi; }
function both() { COUNT=1; }
cat <<EOF
not_a_function() { }
EOF
