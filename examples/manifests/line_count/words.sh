# Read by line_count.sh, from beside it.
fail() {
  echo "$1" >&2
  exit 1
}
