"""What decides about calls, made from the configuration and the policies of the user and of the trusted project."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..core.errors import ConfigError
from ..core.jsontext import JSON
from ..core.policy import Decision
from ..core.process import Filter
from ..core.source import Problem
from ..core.tool import Tool
from ..policy.grants import ENV, RW, Granted, Grants
from ..policy.redact import Redactor
from ..policy.renamed import RenamedPolicy
from ..policy.rule import Rule
from ..policy.rules import RulePolicy
from ..policy.secrets import Secrets, looks_secret, mentioned
from ..policy.trust import PROJECT_DIR, Trust
from ..sandbox.places import Places
from ..sources.vocabulary import own_tool
from ..store.blobs import Blobs
from ..store.home import Home
from ..store.regular import regular_bytes
from .config import Config
from .demand import wishes_of

POLICY = "policy.yaml"


class Gate(NamedTuple):
    """The policy, and what it and the guard look at."""

    policy: RulePolicy
    places: Places
    problems: tuple[Problem, ...] = ()


def gate(
    workspace: str,
    home: Home,
    config: Config,
    *,
    directories: Sequence[str] = (),
    environ: Mapping[str, str],
    trust: Trust,
) -> Gate:
    """For a workspace. `directories` are where tools lie, the user's own first.

    Raises:
        ConfigError: a rule is wrong, with path and line.
    """
    tools = home.file("tools")
    if config.toolsets.roots.get(tools) == "write" and not os.path.exists(tools):
        home.directory("tools")  # where tools are to be made, the first one must find a place
    protected = (home.path, *directories, *config.toolsets.files)
    bench = directories[0] if directories and config.offers("create_custom_tool") else ""
    places = Places(workspace, roots=config.toolsets.roots, protected=protected, bench=bench)
    rules, problems = _rules(workspace, home, config, places, trust)
    policy = RulePolicy(
        config.approval_tools,
        config.approval_default,
        rules,
        tuple(config.toolsets.approvals.values()),
        places,
        environ.get("PATH", os.defpath),
    )
    if config.offer.renames:
        policy = RenamedPolicy.around(policy, config.offer.in_own_words)
    return Gate(policy, places, tuple(problems))


def _rules(
    workspace: str, home: Home, config: Config, places: Places, trust: Trust
) -> tuple[list[Rule], list[Problem]]:
    user, project = home.file(POLICY), trusted_file(workspace, home, POLICY, trust=trust)
    rules: list[Rule] = []
    problems: list[Problem] = []
    own = regular_bytes(user)
    if not config.toolsets.rules and project is None and own is None:
        return rules, problems
    from ..policy.load import Loader  # late, with the YAML and the tables of programs: most have no rules
    from ..store.yamltext import parse

    loader = Loader(workspace, places)
    for held in config.toolsets.rules:
        read = loader.rules(held.document, held.at, held.value, "toolsets", tool="run_command")
        rules += _tightening(read, problems) if held.tightens else read
    if own is not None:
        rules += loader.file(parse(own, user), "user policy")
    if project is not None:
        rules += _tightening(loader.file(parse(project[1], project[0]), "project policy"), problems)
    return rules, problems


def _tightening(rules: Iterable[Rule], problems: list[Problem]) -> list[Rule]:
    """Without the rules of a project that would loosen: those are ignored and reported."""
    kept = []
    for rule in rules:
        if rule.decision is Decision.PRE_APPROVED:
            message = f"line {rule.origin.line}: a project cannot pre-approve; this rule is ignored"
            problems.append(Problem(rule.origin.path, "CONFIG_INVALID", message))
        else:
            kept.append(rule)
    return kept


def trusted_file(workspace: str, home: Home, name: str, *, trust: Trust) -> tuple[str, bytes] | None:
    """A file of the project, with the content that was trusted; None when there was none.

    A project can only tighten, so a file that was changed or removed since stays in force as it was trusted.

    Raises:
        ConfigError: that content is no longer known.
    """
    relative = f"{PROJECT_DIR}/{name}"
    record, path = trust.record(workspace), os.path.join(workspace, relative)
    if record is None or record.files.get(relative, {}).get("kind") not in ("file", "program"):
        return None  # a link or a pipe is not read; while one is there, none of the project's tools is offered
    data = trust.trusted_bytes(workspace, relative)
    if data is None:
        data = Blobs(home).content(record.files[relative]["digest"])
    if data is None:
        message = "it changed since the project was trusted; look at it, then type: toolcrib trust"
        raise ConfigError(message, path=path)
    return path, data


def granted_to(tool: Tool) -> tuple[str, str]:
    """Whom a grant is for: a tool's id, and its digest. A built-in tool's own changes with us, and means nothing."""
    own = own_tool(tool)
    return own.id, "" if own.source == "builtin" else own.digest


class Vault:
    """What tools are given beyond the plain environment, and what takes secrets out of all that comes back."""

    def __init__(
        self,
        config: Config,
        environ: Mapping[str, str],
        grants: Grants,
        *,
        allowed: Callable[[Tool], bool] = lambda tool: False,
    ) -> None:
        """`allowed`: whether a person who saw what this version of a tool declares said yes to it."""
        self._config, self._environ, self._grants, self._allowed = config, environ, grants, allowed
        self._secrets = Secrets(config.secrets, environ)
        self._granted: dict[tuple[str, str], tuple[Granted, ...]] = {}
        self._declared: frozenset[str] = frozenset()
        """Variables that tools were given because they declare them."""
        self._stamp: object = ()
        self._redactor: Redactor | None = None
        self._look_again()

    def names(self, tool: Tool) -> tuple[str, ...]:
        """Of the secrets that a tool has when a person says yes to it."""
        given = self._secrets.names(self._config.offer.own_name(tool))
        return tuple(dict.fromkeys((*given, *wishes_of(tool).secrets)))

    def visible(self, tool: Tool) -> tuple[str, ...]:
        """Of the variables that it sees then, besides those that all tools of its kind see."""
        return tuple(dict.fromkeys((*self.granted(tool), *wishes_of(tool).env)))

    def granted(self, tool: Tool) -> tuple[str, ...]:
        """Names of the variables that a person granted this very version of a tool."""
        return tuple(each.value for each in self.all_granted(tool) if each.kind == ENV)

    def all_granted(self, tool: Tool) -> tuple[Granted, ...]:
        """All that a person granted it."""
        self._look_again()
        return self._granted.get(granted_to(tool), ()) if self._granted else ()

    def lent(self) -> tuple[str, ...]:
        """All paths that some tool was granted to write to, also one that changed since and lost it."""
        self._look_again()
        return tuple(each.value for held in self._granted.values() for each in held if each.kind == RW)

    def variables(self, tool: Tool) -> dict[str, str]:
        """Raises: `Refused`, for what the user did not allow for this tool, or has not set."""
        more = (*self.granted(tool), *self._declared_by(tool))
        granted = {name: self._environ[name] for name in more if name in self._environ}
        own = self._config.offer.own_name(tool)  # a secret is for a tool, whatever that is called here
        made = self._config.templates.get(own, {})
        named = {name for template in made.values() for name in mentioned(template)}
        names = (name for name in self._secrets.names(own) if name not in named)
        plain = {name: self._secrets.value(own, name) for name in names}
        return granted | plain | {name: self._secrets.expand(text, own, place="env") for name, text in made.items()}

    def to_send(self, tool: str, name: str, *, host: str, own: str | None) -> str:
        """The secret, for a tool of this exposed name to send to a host. Raises: `Refused`."""
        return self._secrets.value(self._config.offer.meant_by(tool), name, host=host, own=own)

    def conceal(self, value: JSON) -> JSON:
        """The value without secrets. Where there are none, this costs nothing."""
        return value if self._redactor is None else self._redactor.json(value)

    def filter(self) -> Filter | None:
        """For one stream of output."""
        return None if self._redactor is None else self._redactor.stream()

    def _declared_by(self, tool: Tool) -> tuple[str, ...]:
        """The variables and secrets that it declares, once somebody who saw that said yes. From then on secrets among
        them are hidden."""
        env, secrets, *_ = wishes_of(tool)
        if not (env or secrets) or not self._allowed(tool):
            return ()
        hidden = self._declared.union(secrets, filter(looks_secret, env))
        if hidden != self._declared:
            self._declared = hidden
            self._hide()
        return (*env, *secrets)

    def _look_again(self) -> None:
        """Read what was granted, if that is other than it was, and hide what is granted and looks like a secret."""
        stamp = self._grants.stamp()
        if stamp == self._stamp:
            return
        self._stamp, self._granted = stamp, {}
        for each in self._grants.all():
            at = (each.tool, each.digest)
            self._granted[at] = (*self._granted.get(at, ()), each)
        self._hide()

    def _hide(self) -> None:
        config = self._config
        passed_on = {*config.variables, *(name for each in config.tools.values() for name in each.variables)}
        passed_on |= {each.value for held in self._granted.values() for each in held if each.kind == ENV}
        hidden = {*self._declared, *filter(looks_secret, passed_on)}
        hidden |= {grant.name for grants in config.secrets.values() for grant in grants}
        values = {name: self._environ[name] for name in sorted(hidden) if self._environ.get(name)}
        self._redactor = Redactor(values) or None
