"""Where a file is downloaded from: redirects, encryption, several addresses."""

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tertulia.errors import InputError
from tertulia.formats.fetching import download
from tertulia.formats.fetching.download import Downloader, DownloadOptions, next_address

from .downloads import BODY, KNOWN, OTHER, Fetcher, refused
from .web_server import Site, answer, hang_up, serve, serving

# -- redirects --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_redirects_are_followed(site: Site, fetch: Fetcher, code: int) -> None:
    site.put("/there", serve(BODY, cut=100_000), serve(BODY))
    url = site.put("/c", answer(code, Location="/next"))
    site.put("/next", answer(code, Location=f"{site.address}/there"))
    assert fetch(url).url == url
    assert fetch.has(BODY)
    assert [path for path, _ in site.requests] == ["/c", "/next", "/there"] * 2
    assert site.requests[-1][1]["range"] == "bytes=100000-"


def test_redirects_in_a_circle_end(site: Site, fetch: Fetcher) -> None:
    url = site.put("/c", answer(302, Location="/d"))
    site.put("/d", answer(302, Location="/c"))
    assert "redirects more than 10 times" in refused(fetch, url)
    assert len(site.requests) == 11


@pytest.mark.parametrize(
    "location",
    ["file:///etc/hostname", "ftp://x/c", "data:text/plain,hello", "http://:80/c", "http://[x/c", "javascript:x"],
)
def test_redirects_to_what_is_no_web_address_are_not_followed(site: Site, fetch: Fetcher, location: str) -> None:
    assert "redirects to" in refused(fetch, site.put("/c", answer(302, Location=location)))


def test_a_redirect_without_a_place(site: Site, fetch: Fetcher) -> None:
    assert "302 Found" in refused(fetch, site.put("/c", answer(302)))


def test_redirects_stay_encrypted() -> None:
    assert next_address("https://a.example/x/y", "../z?q=1") == "https://a.example/z?q=1"
    assert next_address("http://a.example/", "https://b.example/z") == "https://b.example/z"
    assert next_address("https://a.example/", "//b.example/z") == "https://b.example/z"
    with pytest.raises(InputError, match="from https to plain http"):
        next_address("https://a.example/", "http://a.example/z")


# -- encryption -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and the certificate that this machine gives itself."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(path), "-out", str(path.with_name("cert.pem"))]
    subprocess.run(command, check=True, capture_output=True)
    with path.open("ab") as file:
        file.write(path.with_name("cert.pem").read_bytes())
    return path


@pytest.fixture
def secure(certificate: Path) -> Iterator[Site]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serving(context) as site:
        yield site


def test_a_server_that_cannot_prove_who_it_is(secure: Site, fetch: Fetcher) -> None:
    message = refused(fetch, secure.put("/c", serve(BODY)))
    assert "cannot prove who it is" in message
    assert secure.requests == []
    assert fetch.said == [], "trying again would not help"


def test_what_began_encrypted_stays_so(
    secure: Site, site: Site, fetch: Fetcher, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusting = ssl.create_default_context(cafile=str(certificate.with_name("cert.pem")))
    monkeypatch.setattr(download, "_trusted", lambda: trusting)
    plain = site.put("/c", serve(BODY))
    assert "redirects from https to plain http" in refused(fetch, secure.put("/c", answer(302, Location=plain)))
    assert site.requests == []
    fetch(site.put("/d", answer(302, Location=secure.put("/d", serve(BODY)))))
    assert fetch.has(BODY)


# -- several addresses ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [answer(404), answer(500), hang_up, serve(OTHER), answer(302, Location="file:///x")])
def test_where_one_address_fails_the_next_is_tried(site: Site, fetch: Fetcher, first: Any) -> None:
    urls = [site.put("/a", first), site.put("/b", serve(BODY))]
    assert fetch(*urls, digests=KNOWN).url == urls[1]
    assert fetch.has(BODY)


def test_the_next_address_goes_on_where_the_first_broke_off(site: Site, fetch: Fetcher) -> None:
    urls = [site.put("/a", serve(BODY, cut=100_000), answer(404)), site.put("/b", serve(BODY, etag='"b"'))]
    fetch(*urls, digests=KNOWN)
    assert fetch.has(BODY)
    assert site.requests[-1][1]["range"] == "bytes=100000-"


def test_every_failure_of_every_address_is_told(site: Site, fetch: Fetcher) -> None:
    message = refused(fetch, site.put("/a", answer(404)), site.put("/b", serve(OTHER)), digests=KNOWN)
    assert "corpus.bin could not be had from any of its 2 addresses" in message
    assert f"{site.address}/a: the server answers 404" in message
    assert f"{site.address}/b: sent a file with the sha256" in message


# -- small things -----------------------------------------------------------------------------------------------------


def test_a_small_file_in_memory(site: Site) -> None:
    with Downloader(DownloadOptions(sleep=lambda _seconds: None)) as downloader:
        assert downloader.small(site.put("/l", answer(503), serve(b"list")), 10) == b"list"
        with pytest.raises(InputError, match="has more than 10 bytes"):
            downloader.small(site.put("/l", serve(b"list" * 4)), 10)
        with pytest.raises(InputError, match="404"):
            downloader.small(site.put("/l", answer(404)), 10)
