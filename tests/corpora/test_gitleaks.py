"""Our table of token formats against the public rules of gitleaks: what we claim to know, we find as they write it."""

import base64
import random
import re
import tomllib
import warnings
from collections.abc import Callable, Iterator
from re import _constants as kind  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]

import pytest

from toolcrib.cli._literals import literals
from toolcrib.cli._tokens import TOKENS

SAME = {
    "aws-access-key": ("aws-access-token",),
    "aws-bedrock-key": ("aws-amazon-bedrock-api-key-long-lived",),
    "aws-bedrock-short": ("aws-amazon-bedrock-api-key-short-lived",),
    "github-token": ("github-pat", "github-oauth", "github-app-token", "github-refresh-token"),
    "github-fine-grained": ("github-fine-grained-pat",),
    "gitlab-token": (
        "gitlab-pat", "gitlab-pat-routable", "gitlab-ptt", "gitlab-deploy-token", "gitlab-runner-authentication-token",
        "gitlab-runner-authentication-token-routable", "gitlab-feed-token", "gitlab-feature-flag-client-token",
        "gitlab-incoming-mail-token", "gitlab-kubernetes-agent-token", "gitlab-oauth-app-secret", "gitlab-scim-token",
        "gitlab-cicd-job-token",
    ),
    "gitlab-runner": ("gitlab-rrt",),
    "slack-token": (
        "slack-app-token", "slack-bot-token", "slack-config-access-token", "slack-config-refresh-token",
        "slack-legacy-bot-token", "slack-legacy-token", "slack-user-token",
    ),
    "slack-workspace-token": ("slack-legacy-workspace-token",),
    "slack-webhook": ("slack-webhook-url",),
    "teams-webhook": ("microsoft-teams-webhook",),
    "stripe-key": ("stripe-access-token",),
    "openai-key": ("openai-api-key",),
    "openai-legacy-key": ("openai-api-key",),
    "anthropic-key": ("anthropic-api-key", "anthropic-admin-api-key"),
    "google-api-key": ("gcp-api-key",),
    "npm-token": ("npm-access-token",),
    "pypi-token": ("pypi-upload-token",),
    "rubygems-token": ("rubygems-api-token",),
    "jwt": ("jwt",),
    "private-key": ("private-key",),
    "age-key": ("age-secret-key",),
    "huggingface-token": ("huggingface-access-token", "huggingface-organization-api-token"),
    "databricks-token": ("databricks-api-token",),
    "digitalocean-token": ("digitalocean-pat", "digitalocean-access-token", "digitalocean-refresh-token"),
    "doppler-token": ("doppler-api-token",),
    "sendgrid-key": ("sendgrid-api-token",),
    "brevo-key": ("sendinblue-api-token",),
    "shopify-token": (
        "shopify-access-token", "shopify-custom-access-token", "shopify-private-app-access-token", "shopify-shared-secret",
    ),
    "square-token": ("square-access-token",),
    "twilio-key": ("twilio-api-key",),
    "vault-token": ("vault-service-token", "vault-batch-token"),
    "terraform-token": ("hashicorp-tf-api-token",),
    "azure-secret": ("azure-ad-client-secret",),
    "grafana-key": ("grafana-cloud-api-token", "grafana-api-key"),
    "grafana-service-token": ("grafana-service-account-token",),
    "linear-key": ("linear-api-key",),
    "notion-token": ("notion-api-token",),
    "postman-key": ("postman-api-token",),
    "pulumi-token": ("pulumi-api-token",),
    "sentry-token": ("sentry-user-token", "sentry-org-token"),
    "planetscale-token": ("planetscale-api-token", "planetscale-oauth-token", "planetscale-password"),
    "perplexity-key": ("perplexity-api-key",),
    "1password-token": ("1password-service-account-token",),
    "1password-key": ("1password-secret-key",),
    "artifactory-key": ("artifactory-api-key",),
    "artifactory-reference": ("artifactory-reference-token",),
    "alibaba-key": ("alibaba-access-key-id",),
    "adobe-secret": ("adobe-client-secret",),
    "dynatrace-token": ("dynatrace-api-token",),
    "heroku-key": ("heroku-api-key-v2",),
    "flyio-token": ("flyio-access-token",),
    "cloudflare-origin-key": ("cloudflare-origin-ca-key",),
    "openshift-token": ("openshift-user-token",),
    "easypost-key": ("easypost-api-token", "easypost-test-api-token"),
    "shippo-token": ("shippo-api-token",),
}  # fmt: skip
"""Ours, and the rules of theirs that describe the same tokens."""
OURS_ALONE = {
    "discord-webhook": "they know Discord's tokens by the name beside them, not its webhooks",
    "google-oauth": "the client secret has had its own beginning since 2021; they do not list it",
    "google-access-token": "short-lived, and so not in their list; in a manifest it is a mistake all the same",
    "docker-token": "they do not list it",
    "groq-key": "they do not list it",
    "replicate-token": "they do not list it",
    "xai-key": "they do not list it",
    "supabase-token": "they do not list it",
    "tailscale-key": "they do not list it",
}
NOT_CLAIMED = {
    "vault-service-token": ("s.", "the old short form is the end of many an English word"),
}
SAMPLES = 40


@pytest.fixture(scope="module")
def rules(corpus) -> dict[str, str]:
    with open(corpus("gitleaks") / "config" / "gitleaks.toml", "rb") as file:
        found = {rule["id"]: rule.get("regex", "") for rule in tomllib.load(file)["rules"]}
    assert len(found) == 222
    return found


def spoken_here(regex: str) -> str:
    """A Go expression as Python reads it. Flags in the middle are dropped: tokens are then made in the case written."""
    regex = regex.replace("[[:alnum:]]", "[a-zA-Z0-9]").replace(r"\z", r"\Z")
    return re.sub(r"\(\?-?i\)", "", re.sub(r"\(\?-?i:", "(?:", regex))


def sample(regex: str, chance: random.Random) -> str:
    """A random token that the expression describes, without what stands around it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = parser.parse(spoken_here(regex))
        for _ in range(100):  # what is made may miss a boundary that the expression asks for
            found = re.search(spoken_here(regex), "".join(_made(tree, chance)))
            if found:
                inner = found[1] if found.re.groups else ""
                return inner if inner and len(inner) > len(found[0]) - 4 else found[0].strip()
    raise AssertionError(f"nothing can be made for {regex}")


def private_key(chance: random.Random) -> str:
    """Their rule lets anything stand between the marks; a key is base64."""
    about = chance.choice(("RSA ", "EC ", "", "OPENSSH ", "ENCRYPTED "))
    body = base64.encodebytes(chance.randbytes(chance.randint(64, 1200))).decode()
    return f"-----BEGIN {about}PRIVATE KEY-----\n{body}-----END {about}PRIVATE KEY-----"


def _made(tree: object, chance: random.Random) -> Iterator[str]:
    for op, value in tree:  # type: ignore[attr-defined]
        if op is kind.LITERAL:
            yield chr(value)
        elif op is kind.IN:
            yield chance.choice(_members(value))
        elif op is kind.ANY:
            yield "."  # a dot that nobody escaped
        elif op in (kind.MAX_REPEAT, kind.MIN_REPEAT):
            low, high, inner = value
            for _ in range(chance.randint(low, min(int(high), max(low + 8, 40)))):
                yield from _made(inner, chance)
        elif op is kind.SUBPATTERN:
            yield from _made(value[3], chance)
        elif op is kind.BRANCH:
            yield from _made(chance.choice(value[1]), chance)
        elif op is not kind.AT:
            raise AssertionError(f"{op} is not known here")


def _members(parts: list[tuple[object, object]]) -> str:
    letters = "".join(chr(code) for code in range(32, 127))
    classes: dict[object, Callable[[str], bool]] = {
        kind.CATEGORY_DIGIT: str.isdigit,
        kind.CATEGORY_WORD: lambda char: char.isalnum() or char == "_",
        kind.CATEGORY_SPACE: lambda char: char == " ",
        kind.CATEGORY_NOT_SPACE: lambda char: char != " ",
    }
    found = ""
    if parts[0][0] is kind.NEGATE:
        return "".join(char for char in letters if char not in _members(parts[1:]))
    for op, value in parts:
        if op is kind.LITERAL:
            found += chr(value)  # type: ignore[arg-type]
        elif op is kind.RANGE:
            low, high = value  # type: ignore[misc]
            found += "".join(chr(code) for code in range(low, high + 1))
        elif op is kind.CATEGORY:
            found += "".join(filter(classes[value], letters))
        else:
            raise AssertionError(f"{op} is not known here")
    return found


def test_every_rule_of_ours_has_a_counterpart_or_a_reason(rules) -> None:
    ours = {token.rule for token in TOKENS}
    assert len(TOKENS) >= 40
    assert ours == set(SAME) | set(OURS_ALONE)
    assert not set(SAME) & set(OURS_ALONE)
    assert [each for theirs in SAME.values() for each in theirs if each not in rules] == []


@pytest.mark.parametrize("theirs", dict.fromkeys(each for theirs in SAME.values() for each in theirs))
def test_what_their_rule_describes_is_found_by_ours(rules, theirs) -> None:
    """In a manifest, in a program, and alone on a line."""
    mine = {ours for ours, each in SAME.items() if theirs in each}
    chance = random.Random(theirs)
    unclaimed = NOT_CLAIMED.get(theirs, ("\0", ""))[0]
    missed = []
    for at in range(SAMPLES):
        token = private_key(chance) if theirs == "private-key" else sample(rules[theirs], chance)
        if token.startswith(unclaimed):
            continue
        text = (f"header: {token}\n", f'call("{token}")\n', token)[at % 3]
        said = [finding.message for finding in literals(text, "x.yaml")]
        if not any(f"({rule})" in message for rule in mine for message in said):
            missed.append(token)
        assert not any(token in message for message in said)
    assert missed == []


def test_how_many_of_their_rules_are_covered(rules) -> None:
    """The rest are told by the name of a service beside a value of no form of its own; one rule of ours is for all."""
    covered = {each for theirs in SAME.values() for each in theirs}
    by_name = {name for name, regex in rules.items() if r"[\w.-]{0,50}?" in regex}
    assert len(covered) == 89
    assert len(covered | by_name) >= 180
