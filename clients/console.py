"""The console as far as a person needs it who connects an application: an account, a project, a key, and what to copy."""

import html.parser
import http.cookiejar
import re
import urllib.parse
import urllib.request

PASSWORD = "correct horse battery staple"


class Overview(html.parser.HTMLParser):
    """What can be copied from the overview of a project: `copied` by id, and `snippets` by title."""

    def __init__(self, page):
        super().__init__()
        self.copied, self.snippets = {}, {}
        self.title, self.reads, self.text = "", False, ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.reads = tag in ("summary", "code")
        self.text = "" if self.reads else self.text
        self.id = dict(attributes).get("id") if tag == "code" else None

    def handle_data(self, data):
        self.text += data if self.reads else ""

    def handle_endtag(self, tag):
        if tag == "summary":
            self.title = self.text
        if tag == "code" and self.id:
            self.copied[self.id] = self.text
            if self.title:
                self.snippets[self.title] = self.text
        if tag == "details":
            self.title = ""
        self.reads = False


def overview(deja, name):
    """The overview of a new project as it is after its first key was made there."""
    link = deja.cli("operator", "create", "ada@example.com")
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def send(address, **form):
        request = urllib.request.Request(address, urllib.parse.urlencode(form).encode(), {"Sec-Fetch-Site": "same-origin"})
        return browser.open(request).read().decode()

    send(link, email="", password=PASSWORD, again=PASSWORD)
    send(f"{deja.url}/console/projects", name=name)
    return Overview(send(f"{deja.url}/console/p/{name}/keys", name="first"))


def key(page):
    """The key in the line that puts it into the environment."""
    return re.fullmatch(r"export DEJA_KEY=(dj_[0-9a-f]{32})", page.copied["export"])[1]
