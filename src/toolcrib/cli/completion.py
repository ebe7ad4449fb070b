"""`toolcrib completion`: what Tab completes, for bash, zsh and fish.

The scripts ask the command itself: `list --names` for the tools, which is quick, and `--help` for the flags, which is
always true. Of either, only words made of plain characters are taken, so nothing that a tool says reaches the shell.
"""

import argparse

from . import VERBS

EXAMPLE = """
  source <(toolcrib completion bash)                                     in ~/.bashrc
  source <(toolcrib completion zsh)                                      in ~/.zshrc, after compinit
  toolcrib completion fish > ~/.config/fish/completions/toolcrib.fish    once
"""
_SECOND_WORDS = {
    "new": "executable",
    "serve": "mcp",
    "audit": "show verify",
    "artifact": "show",
    "completion": "bash zsh fish",
}
"""What may follow a verb, where that is not the name of a tool or of a file."""
_TAKE_TOOLS = ("show", "call", "check")
_TAKE_DIRECTORIES = ("trust", "untrust")

_FLAGS = r"sed -n -E 's/^ *(-[a-zA-Z], )?(--[A-Za-z0-9_-]+).*/\2/p'"
_NAMES = r"sed -n -E '/^[A-Za-z0-9_-]+$/p'"

_BASH = f"""\
# toolcrib: completion for bash
_toolcrib() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} verb=${{COMP_WORDS[1]-}} tool=
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "@VERBS@" -- "$word"))
        return
    fi
    if [[ $word == -* ]]; then
        [[ $verb == call && $COMP_CWORD -gt 2 ]] && tool=${{COMP_WORDS[2]}}
        COMPREPLY=($(compgen -W "$("${{COMP_WORDS[0]}}" "$verb" $tool --help 2>/dev/null | {_FLAGS})" -- "$word"))
        return
    fi
    case $verb:$COMP_CWORD in
        @TOOLS_BASH@) COMPREPLY=($(compgen -W "$("${{COMP_WORDS[0]}}" list --names 2>/dev/null | {_NAMES})" -- "$word")) ;;
@SECOND_BASH@
        @DIRECTORIES_BASH@) COMPREPLY=($(compgen -d -- "$word")) ;;
    esac
}}
complete -o default -F _toolcrib toolcrib crib
"""

_ZSH = f"""\
#compdef toolcrib crib
# toolcrib: completion for zsh
_toolcrib() {{
    local verb=${{words[2]}} tool=
    if ((CURRENT == 2)); then
        compadd -- @VERBS@
        return
    fi
    if [[ $PREFIX == -* ]]; then
        [[ $verb == call && $CURRENT -gt 3 ]] && tool=${{words[3]}}
        compadd -- $("${{words[1]}}" "$verb" ${{tool:+"$tool"}} --help 2>/dev/null | {_FLAGS})
        return
    fi
    case $verb:$CURRENT in
        @TOOLS_ZSH@) compadd -- $("${{words[1]}}" list --names 2>/dev/null | {_NAMES}) ;;
@SECOND_ZSH@
        @DIRECTORIES_ZSH@) _files -/ ;;
        *) _files ;;
    esac
}}
compdef _toolcrib toolcrib crib
"""

_FISH = f"""\
# toolcrib: completion for fish
function __toolcrib_flags
    set -l words (commandline -opc)
    set -l asked $words[2]
    test "$words[2]" = call; and set -q words[3]; and set asked call $words[3]
    $words[1] $asked --help 2>/dev/null | {_FLAGS}
end
function __toolcrib_at
    set -l words (commandline -opc)
    test (count $words) -eq $argv[1]; and contains -- "$words[2]" $argv[2..]
end
for command in toolcrib crib
    complete -c $command -n '__fish_use_subcommand' -f -a '@VERBS@'
    complete -c $command -n '__toolcrib_at 2 @TOOLS_FISH@' -f -a '($command list --names 2>/dev/null | {_NAMES.replace("'", '"').replace("$", chr(92) + "$")})'
@SECOND_FISH@
    complete -c $command -n '__toolcrib_at 2 @DIRECTORIES_FISH@' -f -a '(__fish_complete_directories)'
    complete -c $command -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' -f -a '(__toolcrib_flags)'
end
"""


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="toolcrib completion", description="Print the script that lets Tab complete verbs, tools and flags.",
        epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    parser.add_argument("shell", choices=["bash", "zsh", "fish"])
    print(script(parser.parse_args(argv).shell), end="")
    return 0


def script(shell: str) -> str:
    """The script for one shell."""
    if shell == "fish":
        second = "\n".join(
            f"    complete -c $command -n '__toolcrib_at 2 {verb}' -f -a '{words}'"
            for verb, words in _SECOND_WORDS.items()
        )
        text = _FISH.replace("@SECOND_FISH@", second)
        text = text.replace("@TOOLS_FISH@", " ".join(_TAKE_TOOLS))
        text = text.replace("@DIRECTORIES_FISH@", " ".join(_TAKE_DIRECTORIES))
    elif shell == "zsh":
        second = "\n".join(f"        {verb}:3) compadd -- {words} ;;" for verb, words in _SECOND_WORDS.items())
        text = _ZSH.replace("@SECOND_ZSH@", second)
        text = text.replace("@TOOLS_ZSH@", "|".join(f"{verb}:3" for verb in _TAKE_TOOLS))
        text = text.replace("@DIRECTORIES_ZSH@", "|".join(f"{verb}:3" for verb in _TAKE_DIRECTORIES))
    else:
        second = "\n".join(
            f'        {verb}:2) COMPREPLY=($(compgen -W "{words}" -- "$word")) ;;'
            for verb, words in _SECOND_WORDS.items()
        )
        text = _BASH.replace("@SECOND_BASH@", second)
        text = text.replace("@TOOLS_BASH@", "|".join(f"{verb}:2" for verb in _TAKE_TOOLS))
        text = text.replace("@DIRECTORIES_BASH@", "|".join(f"{verb}:2" for verb in _TAKE_DIRECTORIES))
    return text.replace("@VERBS@", " ".join(VERBS))
