"""Which site a dump is of, and where its tables are."""

import os
from pathlib import Path

import pytest

from tertulia.errors import ConfigurationError, InputError
from tertulia.stackexchange.dumps import FILES, domain_of, find_sites, host_of
from tests.stackexchange.dumps import write_dump


@pytest.mark.parametrize(
    ("name", "host", "domain"),
    [
        ("beer", "beer.stackexchange.com", "beer"),
        ("Beer", "beer.stackexchange.com", "beer"),
        ("beer.stackexchange.com", "beer.stackexchange.com", "beer"),
        ("beer.meta", "beer.meta.stackexchange.com", "beer.meta"),
        ("beer.meta.stackexchange.com", "beer.meta.stackexchange.com", "beer.meta"),
        ("stackoverflow", "stackoverflow.com", "stackoverflow"),
        ("stackoverflow.com", "stackoverflow.com", "stackoverflow"),
        ("stackoverflow.meta", "meta.stackoverflow.com", "meta.stackoverflow"),
        ("superuser.meta", "meta.superuser.com", "meta.superuser"),
        ("pt.stackoverflow.com", "pt.stackoverflow.com", "pt.stackoverflow"),
        ("mathoverflow", "mathoverflow.net", "mathoverflow"),
        ("mathoverflow.meta", "meta.mathoverflow.net", "meta.mathoverflow"),
        ("meta", "meta.stackexchange.com", "meta"),
        ("closed_economics", "closed_economics.stackexchange.com", "closed_economics"),
    ],
)
def test_a_name_tells_its_host_and_domain(name: str, host: str, domain: str) -> None:
    assert host_of(name) == host
    assert domain_of(host) == domain


@pytest.mark.parametrize("folder", ["beer_202005", "beer_20200531", "beer", "beer.stackexchange.com_202005"])
def test_the_date_of_a_dump_is_no_part_of_its_name(tmp_path: Path, folder: str) -> None:
    (site,) = find_sites([write_dump(tmp_path / folder)])
    assert (site.domain, site.label) == ("beer", folder)
    assert site.name in ("beer", "beer.stackexchange.com")


def test_five_digits_are_no_date(tmp_path: Path) -> None:
    (site,) = find_sites([write_dump(tmp_path / "beer_20205")])
    assert site.domain == "beer_20205"


def test_sites_are_numbered_in_order_of_domain(tmp_path: Path) -> None:
    dumps = [write_dump(tmp_path / name) for name in ("wine", "beer", "stackoverflow.com")]
    sites = find_sites(dumps)
    assert [(site.index, site.domain) for site in sites] == [(0, "beer"), (1, "stackoverflow"), (2, "wine")]
    assert [site.domain for site in find_sites(dumps[::-1])] == [site.domain for site in sites]


def test_tables_are_found_whatever_the_case_and_in_one_order(tmp_path: Path) -> None:
    write_dump(tmp_path / "beer")
    (tmp_path / "beer" / "Posts.xml").rename(tmp_path / "beer" / "posts.XML")
    (tmp_path / "beer" / "Badges.xml").write_text("<badges></badges>")
    (site,) = find_sites([tmp_path / "beer"])
    assert list(site.tables) == ["posts", "comments", "users", "votes"]
    assert site.tables["posts"].path == tmp_path / "beer" / "posts.XML"
    assert site.tables["posts"].size == (tmp_path / "beer" / "posts.XML").stat().st_size


def test_only_tables_that_were_asked_for_are_looked_at(tmp_path: Path) -> None:
    write_dump(tmp_path / "beer", history=())
    (tmp_path / "beer" / "Votes.xml").unlink()
    (tmp_path / "beer" / "Votes.xml").mkdir()
    (site,) = find_sites([tmp_path / "beer"], tables=("posts", "history"))
    assert list(site.tables) == ["posts", "history"]


def test_the_working_directory_and_links_are_dumps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_dump(tmp_path / "beer")
    (tmp_path / "wine").symlink_to(tmp_path / "beer")
    monkeypatch.chdir(tmp_path / "beer")
    assert find_sites([Path(".")])[0].domain == "beer"
    # A link has the name that the user gave it.
    assert find_sites([tmp_path / "wine"])[0].domain == "wine"


class TestNames:
    @pytest.mark.parametrize("name", ["beer", "beer_202005"])
    def test_a_host_can_be_given(self, tmp_path: Path, name: str) -> None:
        dump = write_dump(tmp_path / "beer_202005")
        (site,) = find_sites([dump], {name: "bier.example.org"})
        assert (site.host, site.domain) == ("bier.example.org", "bier.example")

    def test_the_exact_name_comes_first(self, tmp_path: Path) -> None:
        dumps = [write_dump(tmp_path / "beer_2019010"), write_dump(tmp_path / "beer_2020010")]
        sites = find_sites(dumps, {"beer": "old.example.org", "beer_2020010": "new.example.org"})
        assert [site.domain for site in sites] == ["new.example", "old.example"]

    def test_a_name_that_no_dump_has(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError, match="'wine', and there is no such dump; there are: beer_202005"):
            find_sites([write_dump(tmp_path / "beer_202005")], {"wine": "wine.stackexchange.com"})

    @pytest.mark.parametrize("host", ["", "beer", "https://beer.stackexchange.com", "beer .com", "-a.com", "bièr.com"])
    def test_a_host_that_is_none(self, tmp_path: Path, host: str) -> None:
        with pytest.raises(ConfigurationError, match="is no host; expected one such as"):
            find_sites([write_dump(tmp_path / "beer")], {"beer": host})


class TestWhatIsNoDump:
    def test_nothing(self) -> None:
        with pytest.raises(ConfigurationError, match="no dump is named"):
            find_sites([])

    def test_a_path_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"beer: is not there; expected a folder with Posts.xml, or a .7z archive"):
            find_sites([tmp_path / "beer"])

    def test_a_link_to_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "beer").symlink_to(tmp_path / "gone")
        with pytest.raises(InputError, match="beer: is a link to nothing"):
            find_sites([tmp_path / "beer"])

    def test_a_loop_of_links(self, tmp_path: Path) -> None:
        (tmp_path / "beer").symlink_to(tmp_path / "beer")
        with pytest.raises(InputError, match="beer: cannot be read"):
            find_sites([tmp_path / "beer"])

    def test_a_name_with_a_nul(self) -> None:
        with pytest.raises(InputError, match="cannot be read"):
            find_sites([Path("be\0er")])

    def test_the_file_of_a_table(self, tmp_path: Path) -> None:
        write_dump(tmp_path / "beer")
        with pytest.raises(InputError, match=r"is no dump; .*\(name the folder that it is in\)"):
            find_sites([tmp_path / "beer" / "Posts.xml"])

    def test_another_file(self, tmp_path: Path) -> None:
        (tmp_path / "beer.zip").write_bytes(b"PK")
        with pytest.raises(InputError, match=r"beer.zip: is no dump; expected a folder with Posts.xml, or a .7z"):
            find_sites([tmp_path / "beer.zip"])

    def test_a_folder_named_like_an_archive_is_a_folder(self, tmp_path: Path) -> None:
        (site,) = find_sites([write_dump(tmp_path / "beer.7z")], {"beer.7z": "beer.stackexchange.com"})
        assert site.domain == "beer"

    def test_an_empty_folder(self, tmp_path: Path) -> None:
        (tmp_path / "beer").mkdir()
        with pytest.raises(InputError, match=r"beer: has no Posts.xml; expected a dump$"):
            find_sites([tmp_path / "beer"])

    def test_a_folder_of_archives(self, tmp_path: Path) -> None:
        (tmp_path / "dumps").mkdir()
        (tmp_path / "dumps" / "beer.7z").write_bytes(b"")
        with pytest.raises(InputError, match=r"has no Posts.xml.*it holds archives; name them, such as .*beer.7z"):
            find_sites([tmp_path / "dumps"])

    def test_a_table_that_is_a_folder(self, tmp_path: Path) -> None:
        (tmp_path / "beer" / "Posts.xml").mkdir(parents=True)
        with pytest.raises(InputError, match=r"beer/Posts.xml: is a folder; expected the file of a table"):
            find_sites([tmp_path / "beer"])

    def test_a_table_that_is_a_pipe(self, tmp_path: Path) -> None:
        write_dump(tmp_path / "beer", votes=None)
        os.mkfifo(tmp_path / "beer" / "Votes.xml")
        with pytest.raises(InputError, match=r"Votes.xml: is no regular file"):
            find_sites([tmp_path / "beer"])

    def test_a_table_that_is_a_link_to_nothing(self, tmp_path: Path) -> None:
        write_dump(tmp_path / "beer", users=None)
        (tmp_path / "beer" / "Users.xml").symlink_to(tmp_path / "gone")
        with pytest.raises(InputError, match=r"Users.xml: is a link to nothing"):
            find_sites([tmp_path / "beer"])

    def test_a_table_twice(self, tmp_path: Path) -> None:
        write_dump(tmp_path / "beer")
        (tmp_path / "beer" / "posts.xml").write_bytes(b"")
        with pytest.raises(InputError, match=r"posts.xml: and Posts.xml are both there; expected one file for a table"):
            find_sites([tmp_path / "beer"])

    def test_two_dumps_of_a_domain(self, tmp_path: Path) -> None:
        dumps = [write_dump(tmp_path / "beer_202005"), write_dump(tmp_path / "beer_202105")]
        with pytest.raises(
            InputError, match=r"beer_202105: is a dump of the domain 'beer', as .*beer_202005 is; .*--site"
        ):
            find_sites(dumps)
        assert len(find_sites(dumps, {"beer_202105": "beer21.stackexchange.com"})) == 2

    def test_a_dump_twice(self, tmp_path: Path) -> None:
        write_dump(tmp_path / "beer")
        (tmp_path / "wine").symlink_to(tmp_path / "beer")
        with pytest.raises(InputError, match=r"wine: is named twice, also as .*beer"):
            find_sites([tmp_path / "beer", tmp_path / "wine"])

    @pytest.mark.parametrize("name", ["my dump", "bièr", "a..b", "-beer", "b/../éér", os.fsdecode(b"b\xffer")])
    def test_a_name_that_tells_no_site(self, tmp_path: Path, name: str) -> None:
        dump = write_dump(tmp_path / name)
        with pytest.raises(InputError, match=r"tells no site .*--site NAME=HOST"):
            find_sites([dump])
        assert find_sites([dump], {os.path.basename(dump): "beer.stackexchange.com"})[0].domain == "beer"

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_a_folder_that_cannot_be_read(self, tmp_path: Path) -> None:
        write_dump(tmp_path / "beer").chmod(0)
        with pytest.raises(InputError, match="cannot be read: Permission denied"):
            find_sites([tmp_path / "beer"])


def test_the_real_dumps_are_told_apart(data: Path) -> None:
    sites = find_sites(sorted((data / "stackexchange").iterdir()))
    assert [site.domain for site in sites] == [
        "ai",
        "beer",
        "bicycles.meta",
        "closed_economics",
        "closed_firearms",
        "closed_onstartups.meta",
        "datascience.meta_posts_only",
        "french.meta",
        "history.meta",
    ]
    tables = {site.domain: list(site.tables) for site in sites}
    assert tables["beer"] == list(FILES)
    assert tables["datascience.meta_posts_only"] == ["posts"]
    assert "votes" not in tables["history.meta"]
