"""Service account tokens: JWTs, signed (HS256) with a key of the server, ending when they say."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
import uuid
from pathlib import Path

import msgspec

from .errors import conflict, invalid, not_found
from .objects import Obj, dig, timestamp
from .request import User
from .storage import Store

ISSUER = "https://kubernetes.default.svc.cluster.local"
SHORTEST, LONGEST = 600, 1 << 32


class Tokens:
    def __init__(self, store: Store, folder: Path | None = None) -> None:
        """`folder`: where the key is kept, if it is."""
        self._store, self._key = store, _new_key() if folder is None else _kept_key(folder / "sa.key")
        self.shortest = SHORTEST
        """Tests may let tokens live for less than the real server does."""

    def create(self, account: Obj, request: Obj) -> Obj:
        """A TokenRequest with its status. Raises StatusError."""
        spec = request.get("spec") or {}
        seconds = int(spec.get("expirationSeconds") or 3600)
        if not self.shortest <= seconds <= LONGEST:
            text = f"Invalid value: {seconds}: may not specify a duration less than 10 minutes"
            invalid("TokenRequest.authentication.k8s.io", "", [("spec.expirationSeconds", "FieldValueInvalid", text)])
        name, namespace = account["metadata"]["name"], account["metadata"]["namespace"]
        inner: Obj = {"namespace": namespace, "serviceaccount": {"name": name, "uid": account["metadata"]["uid"]}}
        bound = spec.get("boundObjectRef")
        if bound:
            inner |= self._bound(namespace, bound)
        now = int(time.time())
        claims = {
            "aud": spec.get("audiences") or [ISSUER],
            "exp": now + seconds,
            "iat": now,
            "nbf": now,
            "iss": ISSUER,
            "jti": str(uuid.uuid4()),
            "kubernetes.io": inner,
            "sub": f"system:serviceaccount:{namespace}:{name}",
        }
        status = {"token": self._sign(claims), "expirationTimestamp": timestamp(seconds)}
        spec = {"audiences": claims["aud"], "expirationSeconds": seconds, "boundObjectRef": bound}
        metadata = {"name": name, "namespace": namespace, "creationTimestamp": timestamp()}
        return {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": metadata,
                "spec": spec, "status": status}  # fmt: skip

    def _bound(self, namespace: str, reference: Obj) -> Obj:
        kind, name = reference.get("kind", ""), reference.get("name", "")
        plural = {"Pod": "pods", "Secret": "secrets"}.get(kind, "")
        found = self._store.get((plural, namespace, name))
        if found is None:
            not_found(plural, name)
        if reference.get("uid") and reference["uid"] != found["metadata"]["uid"]:
            text = f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record."
            conflict(kind, name, f"{text} The object might have been deleted and then recreated")
        inner = {kind.lower(): {"name": name, "uid": found["metadata"]["uid"]}}
        if node := dig(found, "spec.nodeName", ""):
            inner["node"] = {"name": node, "uid": dig(self._store.get(("nodes", "", node)), "metadata.uid", "")}
        return inner

    def _sign(self, claims: Obj) -> str:
        head = _text(msgspec.json.encode({"alg": "HS256", "kid": "test", "typ": "JWT"}))
        signed = f"{head}.{_text(msgspec.json.encode(claims))}"
        return f"{signed}.{_text(hmac.digest(self._key, signed.encode(), hashlib.sha256))}"

    def user(self, token: str, audiences: tuple[str, ...] = (ISSUER,)) -> User | None:
        """Who has this token; None if it is not ours, over, or bound to what is gone."""
        signed, _, signature = token.rpartition(".")
        wanted = _text(hmac.digest(self._key, signed.encode(), hashlib.sha256))
        if not hmac.compare_digest(signature, wanted):
            return None
        claims = msgspec.json.decode(_bytes(signed.partition(".")[2]))
        if claims["exp"] <= time.time() or not set(audiences) & set(claims["aud"]):
            return None
        inner = claims["kubernetes.io"]
        namespace, account = inner["namespace"], inner["serviceaccount"]
        if not self._lives("serviceaccounts", namespace, account):
            return None
        if "pod" in inner and not self._lives("pods", namespace, inner["pod"]):
            return None
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
        return User(claims["sub"], groups, account["uid"])

    def _lives(self, plural: str, namespace: str, reference: Obj) -> bool:
        found = self._store.get((plural, namespace, reference["name"]))
        return found is not None and bool(found["metadata"]["uid"] == reference["uid"])


def _new_key() -> bytes:
    return uuid.uuid4().bytes + uuid.uuid4().bytes


def _kept_key(path: Path) -> bytes:
    if not path.exists():
        path.write_bytes(_new_key())
    return path.read_bytes()


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
