"""`toolcrib completion`: what Tab completes, for bash, zsh and fish.

The scripts ask the command itself: `list --names` for the tools, which is quick, `list --profiles --names` for the
profiles, and `--help` for the flags, which is always true. Of these, only words made of plain characters are taken, so
nothing that a tool says reaches the shell.
"""

from . import VERBS
from ._parser import verb_parser

EXAMPLE = """
  source <(toolcrib completion bash)                                     in ~/.bashrc
  source <(toolcrib completion zsh)                                      in ~/.zshrc, after compinit
  toolcrib completion fish > ~/.config/fish/completions/toolcrib.fish    once
"""
_SECOND_WORDS = {
    "new": "executable manifest",
    "serve": "mcp grpc",
    "audit": "show verify",
    "artifact": "show",
    "session": "new list show end",
    "completion": "bash zsh fish",
}
"""What may follow a verb, where that is not the name of a tool or of a file."""
_TAKE_TOOLS = ("show", "call", "check", "test", "build")

_PARTS = {
    "@VERBS@": " ".join(VERBS),
    "@PLAIN_WORDS@": "sed -n -E '/^[A-Za-z0-9_-]+$/{p;s/^custom_tool_//p;}'",
    "@PROFILES@": "list --profiles --names 2>/dev/null | sed -n -E '/^[A-Za-z0-9_-]+$/p'",
    "@FLAGS@": r"sed -n -E 's/^ *(-[a-zA-Z], )?(--[A-Za-z0-9_-]+).*/\2/p'",
}

_BASH = """\
# Completion of toolcrib for bash. Load it with: source <(toolcrib completion bash)
_toolcrib() {
    local command=${COMP_WORDS[0]} verb=${COMP_WORDS[1]-} word=${COMP_WORDS[COMP_CWORD]} tool= words=
    if ((COMP_CWORD == 1)); then
        words='@VERBS@'
    elif [[ ${COMP_WORDS[COMP_CWORD-1]} == --profile ]]; then
        words=$("$command" @PROFILES@)
    elif [[ $word == -* ]]; then
        [[ $verb == call && $COMP_CWORD -gt 2 ]] && tool=${COMP_WORDS[2]}
        words=$("$command" "$verb" ${tool:+"$tool"} --help 2>/dev/null | @FLAGS@)
    elif ((COMP_CWORD == 2)); then
        case $verb in
            @TOOLS@) words=$("$command" list --names 2>/dev/null | @PLAIN_WORDS@) ;;
@SECOND@
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _toolcrib toolcrib crib
"""

_ZSH = """\
#compdef toolcrib crib
# Completion of toolcrib for zsh. Load it, after compinit, with: source <(toolcrib completion zsh)
_toolcrib() {
    local command=${words[1]} verb=${words[2]} tool=
    if ((CURRENT == 2)); then
        compadd -- @VERBS@
    elif [[ ${words[CURRENT-1]} == --profile ]]; then
        compadd -- $("$command" @PROFILES@)
    elif [[ $PREFIX == -* ]]; then
        [[ $verb == call && $CURRENT -gt 3 ]] && tool=${words[3]}
        compadd -- $("$command" "$verb" ${tool:+"$tool"} --help 2>/dev/null | @FLAGS@)
    elif ((CURRENT == 3)); then
        case $verb in
            @TOOLS@) compadd -- $("$command" list --names 2>/dev/null | @PLAIN_WORDS@) || _files ;;
@SECOND@
            *) _files ;;
        esac
    else
        _files
    fi
}
compdef _toolcrib toolcrib crib
"""

_FISH = """\
# Completion of toolcrib for fish. Keep it as ~/.config/fish/completions/toolcrib.fish
function __toolcrib_words
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    if test (count $words) -eq 1
        string split ' ' -- '@VERBS@'
    else if test "$words[-1]" = --profile
        $words[1] @PROFILES@
    else if string match -q -- '-*' $word
        set -l asked $words[2]
        test "$words[2]" = call; and set -q words[3]; and set asked call $words[3]
        $words[1] $asked --help 2>/dev/null | @FLAGS@
    else if test (count $words) -eq 2
        switch $words[2]
            case @TOOLS@
                $words[1] list --names 2>/dev/null | @PLAIN_WORDS@
                contains -- $words[2] check test; and __fish_complete_path $word
@SECOND@
            case trust untrust
                __fish_complete_directories $word
        end
    end
end
complete -c toolcrib -f -a '(__toolcrib_words)'
complete -c crib -f -a '(__toolcrib_words)'
"""


def main(argv: list[str]) -> int:
    parser = verb_parser("completion", "Print the script that lets Tab complete verbs, tools and flags.", EXAMPLE)
    parser.add_argument("shell", choices=["bash", "zsh", "fish"])
    print(script(parser.parse_args(argv).shell), end="")
    return 0


def script(shell: str) -> str:
    """The script for one shell."""
    template, tools, branch = {
        "bash": (_BASH, "|", "            {verb}) words='{words}' ;;"),
        "zsh": (_ZSH, "|", "            {verb}) compadd -- {words} ;;"),
        "fish": (_FISH, " ", "            case {verb}\n                string split ' ' -- '{words}'"),
    }[shell]
    second = "\n".join(branch.format(verb=verb, words=words) for verb, words in _SECOND_WORDS.items())
    parts = _PARTS | {"@TOOLS@": tools.join(_TAKE_TOOLS), "@SECOND@": second}
    for name, part in parts.items():
        template = template.replace(name, part)
    return template
