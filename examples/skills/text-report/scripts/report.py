"""Counts what is in a text. The arguments are variables: TOOL_ARGS is all of them as JSON."""

import json
import os
import sys
from collections import Counter

path = os.environ.get("TOOL_ARGS_FILE")  # what is too long for a variable
if path:
    with open(path, encoding="utf-8") as file:
        args = json.load(file)
else:
    args = json.loads(os.environ["TOOL_ARGS"])
words = args["text"].split()
frequent = Counter(word.lower().strip(".,;:!?") for word in words).most_common(args.get("top", 3))
lines = [f"{len(args['text'].splitlines())} lines, {len(words)} words, {len(args['text'])} characters"]
lines += [f"{count:>6}  {word}" for word, count in frequent]
sys.stdout.write("\n".join(lines) + "\n")
