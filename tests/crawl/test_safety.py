"""No crawl talks to a private or local address: not by name, by number, by redirect, by robots.txt, nor by a name that changes."""

import ipaddress
import shutil
import socket
import ssl
import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tertulia.crawl.networks import forbidden

from .conftest import Crawler
from .web import Web, page, redirect, serve, serving

pytestmark = pytest.mark.timeout(60)
SECRET = page("The keys of the cloud.")


def lookup_of(**hosts):
    """A way to look hosts up: each name has its answers, one list a time, the last again and again."""
    asked = []

    async def lookup(host: str) -> list[str]:
        asked.append(host)
        answers = hosts.get(host.replace(".", "_"))
        if answers is None:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return answers.pop(0) if len(answers) > 1 else answers[0]

    return lookup, asked


HERE = [
    "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.1.", "0", "0.0.0.0", "10.0.0.1", "172.16.0.1",
    "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1", "192.0.0.1", "198.18.0.1", "224.0.0.1", "255.255.255.255",
    "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[fe80::1]", "[fc00::1]", "[fd12::1]",
    "[ff02::1]", "[fec0::1]", "[64:ff9b::7f00:1]", "[64:ff9b::10.0.0.1]", "[64:ff9b:1::1]", "[2002:7f00:1::]",
    "[2002:a9fe:a9fe::1]",
    "[2001:0:5ef5:79fd:0:0:80ff:fffe]", "[2001:db8::1]", "[100::1]", "[2607:f8b0::5efe:10.0.0.1]", "[fe80::1%25eth0]",
    "localhost", "LOCALHOST.",
]  # fmt: skip


def test_numbers_and_names_of_this_machine(run: Crawler) -> None:
    found = run(*(f"http://{host}/x" for host in HERE), allow_loopback=False)
    assert {result.outcome for result in found.values()} == {"forbidden-address", "bad-address"}
    assert {result.status for result in found.values()} == {None}
    # Some of them are one address, written in several ways.
    assert len(found) > len(HERE) - 5


def test_the_switch_for_tests_lets_two_addresses_through(web: Web, elsewhere: Web, run: Crawler) -> None:
    ours = web.put("/a", serve(page("Ours.")))
    other = elsewhere.put("/a", serve(SECRET))
    found = run(ours, other)
    assert found[ours].outcome == "ok"
    assert found[other].outcome == "forbidden-address"
    assert not elsewhere.requests
    assert run(ours, overwrite=True, allow_loopback=False)[ours].outcome == "forbidden-address"


def test_ports_that_are_not_asked(run: Crawler) -> None:
    found = run("http://a.example:22/", "http://a.example:8080/", allow_loopback=False, lookup=lookup_of()[0], tries=1)
    assert {(result.outcome, result.reason) for result in found.values()} == {
        ("forbidden-address", "has the port 22"),
        ("forbidden-address", "has the port 8080"),
    }
    found = run(
        "http://a.example:8080/",
        allow_loopback=False,
        ports=frozenset({8080}),
        lookup=lookup_of()[0],
        tries=1,
        overwrite=True,
    )
    assert [result.outcome for result in found.values()] == ["dns"]


def test_redirects_to_this_machine(web: Web, elsewhere: Web, run: Crawler) -> None:
    inner = elsewhere.put("/secret", serve(SECRET))
    urls = [
        web.put("/1", redirect(inner)),
        web.put("/2", redirect("http://169.254.169.254/latest/meta-data/")),
        web.put("/3", redirect(f"http://[::ffff:127.0.0.2]:{elsewhere.port}/secret")),
        web.put("/4", redirect(f"//127.0.0.2:{elsewhere.port}/secret")),
    ]
    web.put("/5b", redirect(inner))
    urls.append(web.put("/5", redirect("/5b")))
    found = run(*urls)
    assert {result.outcome for result in found.values()} == {"forbidden-address"}
    assert all("leads to" in (result.reason or "") for result in found.values())
    assert not elsewhere.requests


def test_a_name_that_stands_for_an_inner_address(elsewhere: Web, run: Crawler) -> None:
    elsewhere.put("/secret", serve(SECRET))
    lookup, asked = lookup_of(inner_example=[["127.0.0.2"]], both_example=[["10.0.0.1", "127.0.0.2", "::1%lo"]])
    found = run(*(f"http://{host}.example:{elsewhere.port}/secret" for host in ("inner", "both")), lookup=lookup)
    assert {result.outcome for result in found.values()} == {"forbidden-address"}
    assert set(asked) == {"inner.example", "both.example"}
    assert not elsewhere.requests


def test_the_last_gate_holds_by_itself(elsewhere: Web, run: Crawler, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the look-up's check to fail, the socket would still not be made."""
    elsewhere.put("/secret", serve(SECRET))

    async def unchecked(self, host: str, port: int = 0, family: int = 0):
        return [
            {"hostname": host, "host": address, "port": port, "family": socket.AF_INET, "proto": 0, "flags": 0}
            for address in (["127.0.0.2"] if host == "one.example" else ["127.0.0.2", "127.0.0.3"])
        ]

    monkeypatch.setattr("tertulia.crawl.connecting._Resolver.resolve", unchecked)
    found = run(*(f"http://{host}.example:{elsewhere.port}/secret" for host in ("one", "two")), tries=1)
    assert {result.outcome for result in found.values()} == {"connection"}
    assert not elsewhere.requests


def test_of_the_addresses_of_a_name_only_the_public_are_asked(web: Web, elsewhere: Web, run: Crawler) -> None:
    web.put("/a", serve(page("Ours.")))
    lookup, _ = lookup_of(mixed_example=[["127.0.0.2", "127.0.0.1"]])
    (found,) = run(f"http://mixed.example:{web.port}/a", lookup=lookup).values()
    assert found.outcome == "ok"
    assert not elsewhere.requests
    assert web.requests[-1].headers["host"] == f"mixed.example:{web.port}"


def test_a_name_whose_address_changes_between_look_ups(web: Web, elsewhere: Web, run: Crawler) -> None:
    """DNS rebinding: each answer is used for one connection, and held to the rule by itself."""
    web.put("/a", serve(page("Ours."), Connection="close"))
    web.plan["/robots.txt"] = [serve(b"", "text/plain", Connection="close")]
    elsewhere.put("/a", serve(SECRET))
    lookup, asked = lookup_of(rebind_example=[["127.0.0.1"], ["127.0.0.2"], ["127.0.0.1"], ["127.0.0.2"]])
    (found,) = run(f"http://rebind.example:{web.port}/a", lookup=lookup).values()
    assert found.outcome == "forbidden-address"
    assert not elsewhere.requests
    assert asked == ["rebind.example"] * 2
    # The other way round: the second answer is what is connected to, and it is public.
    lookup, asked = lookup_of(again_example=[["127.0.0.1"], ["127.0.0.1"], ["127.0.0.2"]])
    (found,) = run(f"http://again.example:{web.port}/a", lookup=lookup, overwrite=True).values()
    assert found.outcome == "ok"
    assert not elsewhere.requests


def test_a_robots_txt_that_leads_to_an_inner_address(web: Web, elsewhere: Web, run: Crawler) -> None:
    elsewhere.put("/robots.txt", serve(b"User-agent: *\nDisallow: /", "text/plain"))
    web.put("/robots.txt", redirect(elsewhere.address + "/robots.txt"))
    url = web.put("/a", serve(page("Ours.")))
    assert run(url)[url].outcome == "ok"
    assert not elsewhere.requests


def test_addresses_that_are_none(run: Crawler) -> None:
    urls = [
        "http://me:word@a.example/", "http://me@a.example/", "ftp://a.example/", "file:///etc/passwd", "javascript:alert(1)",
        "http:///x", "http://", "not an address", "http://a.example:99999/", "http://a_b..example/", "http://[::1/", "//a.example/",
        "http://a.example\\@127.0.0.1/", "http://-/", "data:text/html,x", "http://" + "a" * 9000, "http://a\nb.example/",
    ]  # fmt: skip
    found = run(*urls)
    assert {result.outcome for result in found.values()} == {"bad-address"}
    assert len(found) == len(set(urls))


def test_nothing_of_the_environment_is_used(web: Web, run: Crawler, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    url = web.put("/a", serve(page("Ours.")))
    assert run(url)[url].outcome == "ok"
    assert "authorization" not in web.requests[-1].headers


def test_a_server_that_cannot_prove_who_it_is(web: Web, run: Crawler, tmp_path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with serving(security=context) as secure:
        url = secure.put("/a", serve(SECRET))
        led = web.put("/b", redirect(url))
        found = run(url, led)
        assert [found[url].outcome, found[led].outcome] == ["tls", "tls"]
        assert not secure.requests


# -- the rule itself


@settings(max_examples=300, deadline=None)
@given(st.ip_addresses())
@example(ipaddress.ip_address("192.88.99.1"))
def test_what_is_let_through_is_global_by_pythons_own_tables(ip) -> None:
    """Python's tables are not ours: what ours let through, theirs call global."""
    if forbidden(str(ip)) is None and getattr(ip, "ipv4_mapped", None) is None:
        assert ip.is_global or ip in ipaddress.ip_network("2002::/16") or ip in ipaddress.ip_network("64:ff9b::/96")
        assert not ip.is_multicast
        assert not ip.is_reserved or ip in ipaddress.ip_network("64:ff9b::/96")


@settings(max_examples=200, deadline=None)
@given(st.ip_addresses(v=4))
def test_an_address_within_an_address_is_judged_by_itself(ip) -> None:
    number = int(ip)
    high, low = number >> 16, number & 0xFFFF
    inner = forbidden(str(ip)) is not None
    for address in (
        f"::ffff:{ip}",
        f"64:ff9b::{ip}",
        f"2002:{high:x}:{low:x}::1",
        f"2001:0:808:808:0:0:{high ^ 0xFFFF:x}:{low ^ 0xFFFF:x}",
        f"2600::5efe:{ip}",
        f"2600::200:5efe:{ip}",
    ):
        assert (forbidden(address) is not None) == inner, address


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001::8", "192.31.196.1"]
)
def test_public_addresses(address: str) -> None:
    assert forbidden(address) is None
    assert forbidden(address, allow_loopback=True) is None


@pytest.mark.parametrize("address", ["", "a.example", "127.1", "1.2.3.4.5", "::1::", "010.0.0.1", "1.2.3.4 "])
def test_what_is_no_address_is_forbidden(address: str) -> None:
    assert forbidden(address) is not None
