"""The calls of an env's client, as the protocol has them, in httpx and pydantic.

Usage: reference.py BASE TOKEN FOLDER: the card is read first, then captures are
listed and fetched into the folder, then the network log is followed and exported.
"""

import base64
import contextvars
import hashlib
import json
import pathlib
import sys
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx
import websockets.exceptions
import websockets.sync.client
from pydantic import BaseModel, ConfigDict, Field, JsonValue


class Answer(BaseModel):
    model_config = ConfigDict(extra="ignore")  # newer servers stay readable


class Method(Answer):
    method: str = "POST"
    endpoint: str | None = None
    request: dict[str, Any] = {}


class Params(Answer):
    endpoint: str | None = None
    format: str | None = None
    live: str | None = None
    methods: dict[str, Method] = {}


class Extension(Answer):
    uri: str
    description: str
    required: bool
    params: Params


class Capabilities(Answer):
    extensions: list[Extension]
    tools: list[Any]
    operations: list[Literal["data/reset", "data/add", "data/get"]]


class Card(Answer):
    name: str
    protocol_version: Literal["1.0"] = Field(alias="protocolVersion")
    url: str
    preferred_transport: Literal["JSONRPC"] = Field(alias="preferredTransport")
    additional_interfaces: list[Any] = Field(alias="additionalInterfaces")
    capabilities: Capabilities
    children_environments: list[Any] | None


class Capture(Answer):
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*\.pcap[0-9]*$")
    container: str
    bytes: int = Field(ge=0, strict=True)
    modified_at: datetime


class Listing(Answer):
    format: Literal["pcap"]
    captures: list[Capture]


class Lines(Answer):
    model_config = ConfigDict(extra="ignore", strict=True)
    lines: list[dict[str, JsonValue]]
    next: int
    more: bool
    begun_again: bool
    unreadable: int
    missing: int


class File(Answer):
    name: str
    mime_type: str | None = Field(None, alias="mimeType")
    bytes: str


class FilePart(Answer):
    kind: Literal["file"]
    file: File


class Parts(Answer):
    parts: list[FilePart]


class Refusal(Answer):
    ok: Literal[False]

    class Error(Answer):
        code: str
        message: str

    error: Error


class ExtensionCallError(httpx.HTTPStatusError):
    def __init__(self, response: httpx.Response):
        self.code = Refusal.model_validate_json(response.content).error.code
        super().__init__(self.code, request=response.request, response=response)


# Grants: the headers for an address and what is below it.
granted: contextvars.ContextVar[dict[str, dict[str, str]]] = contextvars.ContextVar("granted", default={})


@contextmanager
def authorized(grants: dict[str, dict[str, str]]):
    before = granted.set({**granted.get(), **grants})
    try:
        yield
    finally:
        granted.reset(before)


def headers_for(url: str) -> dict[str, str]:
    at = urlsplit(url)
    for base, headers in granted.get().items():
        to = urlsplit(base)
        below = at.path == to.path or at.path.startswith(to.path.rstrip("/") + "/")
        if (at.scheme, at.netloc) == (to.scheme, to.netloc) and below:
            return headers
    return {}


def find_extension_method(card: Card, uri: str, op: str) -> Method | None:
    for extension in card.capabilities.extensions:
        if extension.uri == uri and op in extension.params.methods:
            m = extension.params.methods[op]
            return Method(method=m.method.upper(), endpoint=m.endpoint or extension.params.endpoint, request=m.request)
    return None


def invoke_extension(base: str, card: Card, uri: str, params: dict[str, Any] | None = None, *, method: str, timeout: float = 30, headers: dict[str, str] | None = None) -> httpx.Response:
    m = find_extension_method(card, uri, method)
    if m is None or m.endpoint is None:
        raise ValueError(f"the card does not advertise {method} of {uri}")
    url = base + m.endpoint
    sent = headers_for(url) if headers is None else headers
    with httpx.Client(timeout=httpx.Timeout(timeout, connect=10), follow_redirects=False, trust_env=False) as client:
        if m.method == "GET":
            response = client.request("GET", url, params=params, headers=sent)
        else:
            response = client.request(m.method, url, json=params or {}, headers=sent)
    if response.status_code >= 400:
        raise ExtensionCallError(response)
    return response


def refuses(code: str, status: int, *args: Any, **kwargs: Any) -> None:
    try:
        invoke_extension(*args, **kwargs)
    except ExtensionCallError as e:
        assert (e.code, e.response.status_code) == (code, status), (e.code, e.response.status_code)
    else:
        raise AssertionError(f"{args} was answered")


def rpc(base: str, card: Card, method: str, params: dict[str, Any]) -> Any:
    response = httpx.post(base + card.url, json={"jsonrpc": "2.0", "id": 7, "method": method, "params": params}, headers=headers_for(base + card.url), timeout=120, trust_env=False)
    response.raise_for_status()
    body = response.json()
    assert body["jsonrpc"] == "2.0" and body["id"] == 7, body
    if "error" in body:
        raise RuntimeError(body["error"])
    return body["result"]


TRAFFIC, BROWSER = "urn:agentenv:traffic/v1", "urn:agentenv:browser/v1"
base, token, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])

card = Card.model_validate_json(httpx.get(base + "/.well-known/agent-env.json", trust_env=False).raise_for_status().content)
assert find_extension_method(card, TRAFFIC, "list").method == "GET"
assert find_extension_method(card, TRAFFIC, "get").request["required"] == ["name"]
assert find_extension_method(card, TRAFFIC, "drop") is None
assert card.capabilities.operations == ["data/reset", "data/add", "data/get"]

# The grant is the address's alone; a dict of headers, even an empty one, replaces it.
refuses("unauthorized", 401, base, card, TRAFFIC, method="list")
with authorized({base: {"Authorization": f"Bearer {token}"}}):
    assert headers_for(base + "/x") and not headers_for(base + "0/x") and not headers_for("http://other.test/x")
    refuses("unauthorized", 401, base, card, TRAFFIC, method="list", headers={})
    refuses("unauthorized", 401, base, card, BROWSER, {"after": 0}, method="network", headers={"Authorization": f"bearer {token}"})
    refuses("unauthorized", 401, base, card, BROWSER, {"after": 0}, method="network", headers={"AgentEnv-Role-Key": token})

    # Captures, in the order in which they were captured.
    listing = Listing.model_validate_json(invoke_extension(base, card, TRAFFIC, method="list").content)
    assert [(c.container, c.modified_at, c.name) for c in listing.captures] == sorted((c.container, c.modified_at, c.name) for c in listing.captures)
    assert all(c.modified_at.utcoffset() is not None for c in listing.captures)
    for c in listing.captures:
        response = invoke_extension(base, card, TRAFFIC, {"name": c.name}, method="get", timeout=600)
        assert response.headers["content-type"] == "application/vnd.tcpdump.pcap"
        assert response.headers["content-disposition"] == f'attachment; filename="{c.name}"'
        assert int(response.headers["content-length"]) == len(response.content)
        (folder / c.name).write_bytes(response.content)
    refuses("not_found", 404, base, card, TRAFFIC, {"name": "gone.pcap0"}, method="get")
    for name in ["../x", ".pcap0", "", "x"]:
        refuses("invalid_params", 400, base, card, TRAFFIC, {"name": name}, method="get")
    refuses("invalid_params", 400, base, card, TRAFFIC, method="get")

    # The log, to its end.
    lines: list[dict[str, Any]] = []
    page = Lines(lines=[], next=0, more=True, begun_again=False, unreadable=0, missing=0)
    while page.more:
        page = Lines.model_validate_json(invoke_extension(base, card, BROWSER, {"after": page.next, "limit": 4096}, method="network").content)
        assert not page.begun_again and page.unreadable == page.missing == 0
        lines += page.lines
    assert [l["n"] for l in lines] == list(range(1, len(lines) + 1)), len(lines)
    for params in [{"after": -1}, {"after": "1"}, {"before": 1}, {"wait": 31}]:
        refuses("invalid_params", 400, base, card, BROWSER, params, method="network")

    # The same lines as they come.
    browser = next(e for e in card.capabilities.extensions if e.uri == BROWSER)
    live = f"ws{base.removeprefix('http')}{browser.params.live}?after=2"
    with websockets.sync.client.connect(live, additional_headers=headers_for(base + "/"), proxy=None, max_size=None) as socket:
        assert [json.loads(socket.recv(timeout=30)) for _ in lines[2:]] == lines[2:]
    for sent in [{}, {"Authorization": f"Bearer {token}x"}]:
        try:
            websockets.sync.client.connect(live, additional_headers=sent, proxy=None)
        except websockets.exceptions.InvalidStatus as e:
            assert e.response.status_code == 401, e
        else:
            raise AssertionError("a WebSocket without the token is open")

    # The HAR, by its operation and by the data plane, in and out again.
    har = invoke_extension(base, card, BROWSER, method="har").content
    parts = Parts.model_validate(rpc(base, card, "data/get", {}))
    assert [p.file.name for p in parts.parts] == ["network.har"]
    assert base64.b64decode(parts.parts[0].file.bytes, validate=True) == har
    assert rpc(base, card, "data/add", {"parts": [p.model_dump(by_alias=True) for p in parts.parts]}) == {}
    assert rpc(base, card, "data/reset", {}) == {}
    try:
        rpc(base, card, "data/add", {"parts": [{"kind": "text", "text": "x"}]})
    except RuntimeError as e:
        assert e.args[0]["code"] == -32602 and e.args[0]["data"]["detail"], e
    else:
        raise AssertionError("a part that can't be added was")
    entries = json.loads(har)["log"]["entries"]
    opened = [l for l in lines if l["event"] == "open"]
    assert len(entries) == len(opened) > 0, (len(entries), len(opened))

assert not granted.get()
print(len(lines), len(listing.captures), hashlib.sha256(har).hexdigest())
