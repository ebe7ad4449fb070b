"""What the tokens of well-known services look like. A table: what each begins with, and what follows."""

import re
from typing import NamedTuple


class Token(NamedTuple):
    """One format. `rest` is what follows one of `starts`; both are as short as tells it from other text."""

    rule: str
    what: str
    starts: tuple[str, ...]
    rest: re.Pattern[str]
    inner: bool = False
    """It begins before its telltale part, so that anything may stand there."""


def _token(rule: str, what: str, starts: str, rest: str, *, inner: bool = False) -> Token:
    return Token(rule, what, tuple(starts.split()), re.compile(rest), inner)


_END = r"(?![A-Za-z0-9_])"

TOKENS = (
    _token("aws-access-key", "an AWS access key", "AKIA ASIA ABIA ACCA A3T", r"[A-Z0-9]{16,17}" + _END),
    _token("aws-bedrock-key", "an AWS Bedrock key", "ABSK", r"[A-Za-z0-9+/]{109,269}"),
    _token("aws-bedrock-short", "an AWS Bedrock key", "bedrock-api-key-", r"YmVkcm9jay5hbWF6b25hd3MuY29t"),
    _token("github-token", "a GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[0-9A-Za-z]{36}"),
    _token("github-fine-grained", "a GitHub token", "github_pat_", r"\w{82}"),
    _token(
        "gitlab-token", "a GitLab token",
        "glpat- glptt- gldt- glrt- glft- glffct- glimt- glagent- gloas- glsoat- glcbt-", r"[0-9A-Za-z_.-]{20,300}",
    ),
    _token("gitlab-runner", "a GitLab runner registration token", "GR1348941", r"[\w-]{20}"),
    _token("slack-token", "a Slack token", "xoxb- xoxp- xoxo- xoxs- xoxe- xoxe. xapp-",
           r"(?=[A-Za-z.-]{0,20}\d)[0-9A-Za-z.-]{8,250}"),
    _token("slack-workspace-token", "a Slack token", "xoxa- xoxr-", r"(?:\d-)?[0-9A-Za-z]{8,48}"),
    _token("slack-webhook", "a Slack webhook", "hooks.slack.com/",
           r"(?:services|workflows|triggers)/[A-Za-z0-9+/]{43,56}", inner=True),
    _token("teams-webhook", "a Microsoft Teams webhook", ".webhook.office.com/webhookb2/", r"[a-z0-9-]{36}@",
           inner=True),
    _token("discord-webhook", "a Discord webhook", "discord.com/api/webhooks/ discordapp.com/api/webhooks/",
           r"\d{17,20}/[\w-]{60,80}", inner=True),
    _token("stripe-key", "a Stripe key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ whsec_",
           r"[A-Za-z0-9]{10,99}"),
    _token("openai-key", "an OpenAI key", "sk-proj- sk-svcacct- sk-admin-", r"[A-Za-z0-9_-]{40,200}"),
    _token("openai-legacy-key", "an OpenAI key", "sk-", r"[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}"),
    _token("anthropic-key", "an Anthropic key", "sk-ant-", r"[a-z]{3,8}\d\d-[A-Za-z0-9_-]{80,120}"),
    _token("google-api-key", "a Google API key", "AIza", r"[\w-]{35}(?![\w-])"),
    _token("google-oauth", "a Google client secret", "GOCSPX-", r"[\w-]{28}"),
    _token("google-access-token", "a Google access token", "ya29.", r"[\w-]{30,300}"),
    _token("npm-token", "an npm token", "npm_", r"[A-Za-z0-9]{36}" + _END),
    _token("pypi-token", "a PyPI token", "pypi-AgEIcHlwaS5vcmc", r"[\w-]{50,1000}"),
    _token("rubygems-token", "a RubyGems token", "rubygems_", r"[a-f0-9]{48}"),
    _token("docker-token", "a Docker Hub token", "dckr_pat_ dckr_oat_", r"[\w-]{27,40}"),
    _token("jwt", "a JSON web token", "ey",
           r"[A-Za-z0-9_-]{17,2000}\.ey[A-Za-z0-9_/\\-]{17,2000}\.[A-Za-z0-9_/\\-]{0,2000}"),
    _token("private-key", "a private key", "-----BEGIN",
           r"[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----[\s\S]{0,200}?[A-Za-z0-9+/]{40}", inner=True),
    _token("age-key", "an age key", "AGE-SECRET-KEY-1", r"[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    _token("huggingface-token", "a Hugging Face token", "hf_ api_org_", r"[A-Za-z]{34}" + _END),
    _token("databricks-token", "a Databricks token", "dapi", r"[a-f0-9]{32}" + _END),
    _token("digitalocean-token", "a DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"[a-f0-9]{64}"),
    _token("doppler-token", "a Doppler token", "dp.pt.", r"[A-Za-z0-9]{43}"),
    _token("sendgrid-key", "a SendGrid key", "SG.", r"[A-Za-z0-9=_.-]{66}"),
    _token("brevo-key", "a Brevo key", "xkeysib-", r"[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    _token("shopify-token", "a Shopify token", "shpat_ shpca_ shppa_ shpss_", r"[a-fA-F0-9]{32}"),
    _token("square-token", "a Square token", "sq0atp- EAAA", r"[\w-]{22,60}(?![\w+/-])"),
    _token("twilio-key", "a Twilio key", "SK", r"[0-9a-fA-F]{32}" + _END),
    _token("vault-token", "a HashiCorp Vault token", "hvs. hvb.", r"[\w-]{90,300}"),
    _token("terraform-token", "a Terraform token", ".atlasv1.", r"[A-Za-z0-9_=-]{60,70}", inner=True),
    _token("azure-secret", "an Azure client secret", "Q~", r"(?<=[a-zA-Z0-9_~.]{3}\dQ~)[A-Za-z0-9_~.-]{31,34}",
           inner=True),
    _token("grafana-key", "a Grafana key", "glc_ eyJrIjoi", r"[A-Za-z0-9+/]{32,400}"),
    _token("grafana-service-token", "a Grafana token", "glsa_", r"[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    _token("linear-key", "a Linear key", "lin_api_", r"[A-Za-z0-9]{40}"),
    _token("notion-token", "a Notion token", "ntn_", r"[0-9]{11}[A-Za-z0-9]{35}"),
    _token("postman-key", "a Postman key", "PMAK-", r"[A-Fa-f0-9]{24}-[A-Fa-f0-9]{34}"),
    _token("pulumi-token", "a Pulumi token", "pul-", r"[a-f0-9]{40}"),
    _token("sentry-token", "a Sentry token", "sntryu_ sntrys_", r"[A-Za-z0-9+/=_]{64,500}"),
    _token("planetscale-token", "a PlanetScale token", "pscale_tkn_ pscale_oauth_ pscale_pw_", r"[\w=.-]{32,64}"),
    _token("perplexity-key", "a Perplexity key", "pplx-", r"[A-Za-z0-9]{48}"),
    _token("groq-key", "a Groq key", "gsk_", r"[A-Za-z0-9]{52}"),
    _token("replicate-token", "a Replicate token", "r8_", r"[A-Za-z0-9]{37}" + _END),
    _token("xai-key", "an xAI key", "xai-", r"[A-Za-z0-9]{80}"),
    _token("1password-token", "a 1Password token", "ops_eyJ", r"[A-Za-z0-9+/]{250,1000}"),
    _token("1password-key", "a 1Password secret key", "A3-",
           r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    _token("artifactory-key", "an Artifactory key", "AKCp", r"[A-Za-z0-9]{69}"),
    _token("artifactory-reference", "an Artifactory token", "cmVmd", r"[A-Za-z0-9]{59}" + _END),
    _token("alibaba-key", "an Alibaba Cloud key", "LTAI", r"[A-Za-z0-9]{20}" + _END),
    _token("adobe-secret", "an Adobe client secret", "p8e-", r"[A-Za-z0-9]{32}" + _END),
    _token("dynatrace-token", "a Dynatrace token", "dt0c01.", r"[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}"),
    _token("heroku-key", "a Heroku key", "HRKU-AA", r"[\w-]{58}"),
    _token("flyio-token", "a Fly.io token", "fo1_ fm1a_ fm1r_ fm2_", r"[\w+/-]{43,2000}"),
    _token("cloudflare-origin-key", "a Cloudflare origin key", "v1.0-", r"[a-f0-9]{24}-[a-f0-9]{146}"),
    _token("openshift-token", "an OpenShift token", "sha256~", r"[\w-]{43}(?![\w-])"),
    _token("easypost-key", "an EasyPost key", "EZAK EZTK", r"[A-Za-z0-9]{54}" + _END),
    _token("shippo-token", "a Shippo token", "shippo_live_ shippo_test_", r"[a-fA-F0-9]{40}"),
    _token("supabase-token", "a Supabase token", "sbp_", r"[a-f0-9]{40}"),
    _token("tailscale-key", "a Tailscale key", "tskey-", r"[a-z]{3,10}-[A-Za-z0-9]{8,20}-[A-Za-z0-9]{20,40}"),
)  # fmt: skip
