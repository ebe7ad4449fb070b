#!/bin/sh
# Counts the lines of a file. Gets --path=… and, if it was given, --blank=true or --blank=false.
. "$(dirname "$0")/words.sh"
blank=true
for word in "$@"; do
  case $word in
    --path=*) path=${word#--path=} ;;
    --blank=*) blank=${word#--blank=} ;;
  esac
done
[ -f "$path" ] || fail "$path is not a file of $FORGE_WORKSPACE"
if [ "$blank" = true ]; then grep -c '' "./$path"; else grep -c . "./$path"; fi
exit 0
