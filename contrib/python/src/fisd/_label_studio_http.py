"""What the bridge uses of Label Studio's HTTP interface."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any, Dict, List, Optional
from xml.sax.saxutils import quoteattr

from .errors import BridgeError

SCANS = 3  # how often a listing is tried again when tasks come and go while it is read


class Studio:
    """A Label Studio at `url`. `token`: a legacy token or a personal access token."""

    def __init__(self, url: str, token: str, timeout: float = 30.0) -> None:
        self.url, self.timeout = url.rstrip("/"), timeout
        self._token = token
        self._access: Optional[str] = None

    def call(self, method: str, path: str, body: Any = None, none_on: int = 0) -> Any:
        """The answer as Python; None when its status is `none_on`; `BridgeError` otherwise."""
        for attempt in range(2):
            try:
                return self._once(method, path, body, self._header())
            except urllib.error.HTTPError as e:
                detail = e.read()[:400].decode(errors="replace")
                if e.code == none_on:
                    return None
                if e.code == 401 and self._access and not attempt:
                    self._access = None  # it has expired
                    continue
                raise BridgeError(f"{method} {self.url}{path}: {e.code} {e.reason}: {detail}") \
                    from None
            except (OSError, ValueError) as e:
                raise BridgeError(f"{method} {self.url}{path}: {e}: is Label Studio there?") \
                    from None

    def _header(self) -> str:
        if self._token.count(".") != 2:
            return f"Token {self._token}"
        if self._access is None:  # a personal access token is one to get short ones with
            got = self._once("POST", "/api/token/refresh", {"refresh": self._token}, None)
            self._access = str(got["access"])
        return f"Bearer {self._access}"

    def _once(self, method: str, path: str, body: Any, authorization: Optional[str]) -> Any:
        request = urllib.request.Request(
            self.url + path, method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json",
                     **({"Authorization": authorization} if authorization else {})})
        with urllib.request.urlopen(request, timeout=self.timeout) as answer:
            raw = answer.read()
        return json.loads(raw) if raw else {}

    def tasks(self, project: int, page_size: int) -> List[Dict[str, Any]]:
        """All tasks of a project with their annotations, page by page.

        Raises
        ------
        BridgeError
            Tasks came and went while they were listed, three times in a row.
        """
        for _ in range(SCANS):
            found: Dict[int, Dict[str, Any]] = {}
            total, page = 1, 1
            while len(found) < total:
                got = self.call("GET", f"/api/tasks?project={project}&fields=all&page={page}"
                                       f"&page_size={page_size}", none_on=404)
                if got is None or not got["tasks"]:
                    break
                found.update((t["id"], t) for t in got["tasks"])
                total, page = got["total"], page + 1
            # An empty project has no first page.
            if len(found) == total or (page == 1 and self._exists(project)):
                return list(found.values())
        raise BridgeError(f"{self.url}: the tasks of project {project} change while they are "
                          "listed; they are listed again")

    def _exists(self, project: int) -> bool:
        """`BridgeError` when it does not: a project that is gone is not one without tasks."""
        return bool(self.call("GET", f"/api/projects/{project}/")["id"] == project)


def labelling_config(classes: List[str], choice: str = "label",
                     unsure: Optional[str] = None) -> str:
    """A labelling interface: the record as a table, and a choice for each class."""
    names = [*classes, *([unsure] if unsure else [])]
    choices = "".join(f"<Choice value={quoteattr(c)}/>" for c in names)
    return ('<View><Table name="record" value="$record"/>'
            f'<Choices name={quoteattr(choice)} toName="record" choice="single" required="true">'
            f'{choices}</Choices></View>')
