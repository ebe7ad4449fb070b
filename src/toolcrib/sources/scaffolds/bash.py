"""A new tool in Bash."""

TEMPLATE = r"""#!/usr/bin/env bash
# @NAME@: a tool, started with one --name=value word for each argument. What it prints is its answer.

set -u

# The arguments, as name:type:required or name:type:optional. The same stands in tool.yaml, for the model and the gate.
parameters=(
@PARAMETERS@)
names=()
values=()
# Paths are meant from the workspace, which is the working directory too.
workspace=${TOOLCRIB_WORKSPACE:-${FORGE_WORKSPACE:-$PWD}}

main() {
    # TODO: do the work here, in "$workspace". The value of an argument: "$(argument NAME)", or with a default:
    # "$(argument NAME DEFAULT)". For what cannot be done: fail 1 "words for the model".
    local at
    write_output "@NAME@ works."
    for ((at = 0; at < ${#names[@]}; at++)); do
        write_output "${names[at]}: ${values[at]}"
    done
}

write_output() {
    printf '%s\n' "$1"
}

fail() { # status, words
    printf '%s\n' "@NAME@: $2" >&2
    exit "$1"
}

argument() { # name, default
    local at
    for ((at = 0; at < ${#names[@]}; at++)); do
        if [[ ${names[at]} == "$1" ]]; then
            printf '%s' "${values[at]}"
            return
        fi
    done
    printf '%s' "${2-}"
}

has() { # name
    local at
    for ((at = 0; at < ${#names[@]}; at++)); do
        [[ ${names[at]} == "$1" ]] && return
    done
    return 1
}

read_argument() { # word
    local at kind word=$1 name number='^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$'
    [[ $word == --*=* ]] || fail 2 "'${word:0:80}' is no argument; write --name=value"
    name=${word%%=*}
    name=${name#--}
    for ((at = 0; at < ${#parameters[@]}; at++)); do
        kind=${parameters[at]#*:}
        if [[ ${parameters[at]%%:*} == "$name" ]]; then
            names+=("$name")
            values+=("${word#*=}")
            case ${kind%%:*} in
                boolean) [[ ${word#*=} == true || ${word#*=} == false ]] || fail 2 "--$name is not true or false" ;;
                number) [[ ${word#*=} =~ $number ]] || fail 2 "--$name is not a number" ;;
            esac
            return
        fi
    done
    fail 2 "--${name:0:80} is no argument of this tool"
}

for word in "$@"; do
    read_argument "$word"
done
for ((at = 0; at < ${#parameters[@]}; at++)); do
    if [[ ${parameters[at]} == *:required ]]; then
        has "${parameters[at]%%:*}" || fail 2 "--${parameters[at]%%:*}=... is missing"
    fi
done
main
"""
