"""Builds the wheels and the source distribution of candor-metrics.

    python wheels.py FOLDER          a wheel for each of six platforms, and the source distribution
    python wheels.py --here FOLDER   a wheel for this platform

With --release it also writes what each wheel's program is made of (CycloneDX), and the checksums of all.

It is also the backend by which pip builds the package, from a checkout or from the source distribution. Go has to be installed. The same commit
gives the same bytes, whatever the folder and the time.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

HERE = Path(__file__).resolve().parent
# The Go module: of the checkout, or within the source distribution.
MODULE = HERE / "go" if (HERE / "go").is_dir() else HERE.parent
NAME = "candor_metrics"

# Go's newest releases need macOS 12. The program is static, so that any Linux does.
PLATFORMS = {
    "linux/amd64": "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    "linux/arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "darwin/amd64": "macosx_12_0_x86_64",
    "darwin/arm64": "macosx_12_0_arm64",
    "windows/amd64": "win_amd64",
    "windows/arm64": "win_arm64",
}


# The bill of materials of a program.
CYCLONEDX = "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0"


def go(*words: str, **variables: str) -> str:
    """Run Go in the module's folder; return what it prints."""
    env = {**os.environ, "CGO_ENABLED": "0", "GOAMD64": "v1", "GOARM64": "v8.0", "GOFLAGS": "-mod=readonly", **variables}
    return subprocess.run(["go", *words], cwd=MODULE, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout


def host() -> str:
    """Return this system as Go names it."""
    return "/".join(go("env", "GOHOSTOS", "GOHOSTARCH").split())


def build(platform: str) -> tuple[bytes, str]:
    """Return the program for a platform, and its version as `candor version` prints it."""
    system, machine = platform.split("/")
    flags, says = ["-buildvcs=true", "-ldflags=-s -w"], ""
    if not (MODULE / ".git").is_dir():  # Go finds no version
        says = sources_version()
        flags = ["-buildvcs=false", f"-ldflags=-s -w -X main.release={says}"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "candor"
        go("build", "-trimpath", *flags, "-o", str(path), "./cmd/candor", GOOS=system, GOARCH=machine)
        found = re.search(r"^\tmod\t\S+\t(\S+)", go("version", "-m", str(path)), re.M)
        return path.read_bytes(), says or (found[1] if found else "(devel)")


def sources_version() -> str:
    """Return the version of sources that are no clone: a source distribution has it in a file, a work tree of git in its history, and an archive of a
    release in its changelog."""
    if (HERE / "VERSION").exists():
        return (HERE / "VERSION").read_text(encoding="utf-8").strip()
    if (MODULE / ".git").exists():
        return git_version()
    log = (MODULE / "CHANGELOG.md").read_text(encoding="utf-8")
    return changelog_version(re.findall(r"^## (.*)", log, re.M))


def git_version() -> str:
    """Return the version that Go gives to the commit."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=MODULE, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "TZ": "UTC"}).stdout.strip()

    dirty = "+dirty" if git("status", "--porcelain") else ""
    stamp = git("show", "-s", "--abbrev=12", "--date=format-local:%Y%m%d%H%M%S", "--format=%cd-%h")
    tags = git("tag", "--merged", "HEAD", "--sort=-version:refname", "--list", "v[0-9]*.[0-9]*.[0-9]*").split()
    return pseudo(tags[0] if tags else "", git("tag", "--points-at", "HEAD").split(), stamp) + dirty


def pseudo(tag: str, here: list[str], stamp: str) -> str:
    """Return the version of a commit after a tag, or with it, as Go makes it of the commit's time and name.

    >>> pseudo("v1.2.3", ["v1.2.3"], "20261126044822-9376d09f0a1b"), pseudo("", [], "20261126044822-9376d09f0a1b")
    ('v1.2.3', 'v0.0.0-20261126044822-9376d09f0a1b')
    >>> pseudo("v1.2.3", [], "20261126044822-9376d09f0a1b"), pseudo("v1.3.0-rc.1", [], "20261126044822-9376d09f0a1b")
    ('v1.2.4-0.20261126044822-9376d09f0a1b', 'v1.3.0-rc.1.0.20261126044822-9376d09f0a1b')
    """
    if tag in here:
        return tag
    if not tag:
        return f"v0.0.0-{stamp}"
    if "-" in tag:
        return f"{tag}.0.{stamp}"
    major, minor, patch = tag[1:].split(".")
    return f"v{major}.{minor}.{int(patch) + 1}-0.{stamp}"


def changelog_version(headings: list[str]) -> str:
    """Return the version of sources by the headings of their changelog: of the release, or of what comes after it.

    >>> changelog_version(["1.2.3, 2027-01-05", "1.2.2, 2027-01-01"]), changelog_version(["Unreleased", "1.2.3, 2027-01-05"]), changelog_version(["Unreleased"])
    ('v1.2.3', 'v1.2.4-dev', 'v0.0.0-dev')
    """
    for i, heading in enumerate(headings):
        if found := re.match(r"v?(\d+)\.(\d+)\.(\d+)\b", heading):
            number = f"v{found[1]}.{found[2]}."
            return f"{number}{found[3]}" if i == 0 else f"{number}{int(found[3]) + 1}-dev"
    return "v0.0.0-dev"


def version_of(program: str) -> str:
    """Return the version of the package that a program's makes: v1.2.3 is 1.2.3, and a commit without a tag is .dev and its time.

    >>> version_of("v1.2.3"), version_of("v1.3.0-rc.1"), version_of("v0.0.0-dev")
    ('1.2.3', '1.3.0rc1', '0.0.0.dev0')
    >>> version_of("v0.0.0-20261126044822-9376d09f0a1b"), version_of("v1.2.4-0.20261126044822-9376d09f0a1b+dirty")
    ('0.0.0.dev20261126044822', '1.2.4.dev20261126044822+dirty')
    """
    found = re.fullmatch(r"v(\d+\.\d+\.\d+)(?:-(.*?))?(\+dirty)?", program)
    if not found:
        raise ValueError(f"{program} is no version of Go's")
    number, rest, dirty = found[1], found[2] or "", found[3] or ""
    if commit := re.search(r"(\d{14})-[0-9a-f]{12}$", rest):
        return f"{number}.dev{commit[1]}{dirty}"
    if rest == "dev":
        return f"{number}.dev0{dirty}"
    return number + re.sub(r"^(alpha|beta|rc)\.?", lambda m: {"alpha": "a", "beta": "b"}.get(m[1], m[1]), rest) + dirty


def project() -> dict[str, Any]:
    """Return the table [project] of pyproject.toml."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    with open(HERE / "pyproject.toml", "rb") as f:
        table: dict[str, Any] = tomllib.load(f)["project"]
    return table


def metadata(version: str, licenses: tuple[str, ...] = ("LICENSE",)) -> str:
    """Return the metadata, which is also the PKG-INFO of the source distribution."""
    p = project()
    lines = ["Metadata-Version: 2.4", f"Name: {p['name']}", f"Version: {version}", f"Summary: {p['description']}", f"Keywords: {','.join(p['keywords'])}"]
    lines += ["License-Expression: BSD-3-Clause", *(f"License-File: {name}" for name in licenses)]
    lines += [f"Classifier: {c}" for c in p["classifiers"]]
    lines += [f"Requires-Python: {p['requires-python']}", *(f"Requires-Dist: {d}" for d in p["dependencies"])]
    for extra, needs in p["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}", *(f"Requires-Dist: {n}; extra == '{extra}'" for n in needs)]
    lines += ["Description-Content-Type: text/markdown", "", (HERE / p["readme"]).read_text(encoding="utf-8")]
    return "\n".join(lines)


def license_texts(platform: str) -> dict[str, bytes]:
    """Return the licenses of candor, and of what else is in the program for a platform."""
    return {"LICENSE": (MODULE / "LICENSE").read_bytes(), "THIRD-PARTY-LICENSES.txt": go("run", "./internal/ci/licenses", platform).encode()}


def write_wheel(folder: Path, version: str, tag: str, files: dict[str, bytes], licenses: dict[str, bytes]) -> str:
    """Write a wheel with these files, licenses and its metadata; return its name."""
    info = f"{NAME}-{version}.dist-info"
    tags = [f"Tag: py3-none-{t}" for t in tag.split(".")]
    files = {
        **files,
        f"{info}/METADATA": metadata(version, tuple(licenses)).encode(),
        f"{info}/WHEEL": "\n".join(["Wheel-Version: 1.0", "Generator: candor", "Root-Is-Purelib: false", *tags, ""]).encode(),
        **{f"{info}/licenses/{name}": text for name, text in licenses.items()},
    }
    record = "".join(f"{n},sha256={_digest(b)},{len(b)}\n" for n, b in sorted(files.items())) + f"{info}/RECORD,,\n"
    files[f"{info}/RECORD"] = record.encode()
    name = f"{NAME}-{version}-py3-none-{tag}.whl"
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        # What installers look for first stands last, as the format recommends.
        for n, b in sorted(files.items(), key=lambda f: (f[0].startswith(info), f[0])):
            entry = zipfile.ZipInfo(n, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100755 if ".data/scripts/" in n else 0o100644) << 16
            z.writestr(entry, b)
    return name


def _digest(b: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(b).digest()).rstrip(b"=").decode()


def modules() -> dict[str, bytes]:
    """Return the files of the package."""
    root = HERE / "src"
    return {str(f.relative_to(root).as_posix()): f.read_bytes() for f in sorted(root.rglob("*")) if f.suffix == ".py" or f.name == "py.typed"}


def wheel(folder: Path, platform: str) -> str:
    """Build the wheel for a platform; return its name."""
    program, says = build(platform)
    version = version_of(says)
    script = f"{NAME}-{version}.data/scripts/candor" + (".exe" if platform.startswith("windows/") else "")
    files = {**modules(), script: program, "candor/_build.py": _build_module(version, says)}
    tag = PLATFORMS.get(platform) or re.sub(r"[-.]", "_", sysconfig.get_platform())
    return write_wheel(folder, version, tag, files, license_texts(platform))


def _build_module(version: str, says: str) -> bytes:
    text = (HERE / "src/candor/_build.py").read_text(encoding="utf-8")
    text = re.sub(r'^VERSION = ".*"', f'VERSION = "{version}"', text, flags=re.M)
    return re.sub(r'^PROGRAM = ".*"', f'PROGRAM = "candor {says}"', text, flags=re.M).encode()


def sources() -> Iterator[tuple[str, Path]]:
    """Yield the files of the source distribution, by their names in it."""
    mine = sorted(f for part in ("src", "tests") for f in (HERE / part).rglob("*") if f.suffix in (".py", ".typed"))
    for f in [HERE / "pyproject.toml", HERE / "README.md", HERE / "wheels.py", *mine]:
        yield f.relative_to(HERE).as_posix(), f
    yield "LICENSE", MODULE / "LICENSE"
    for name in sorted(compiled()):
        yield f"go/{name}", MODULE / name


def compiled() -> set[str]:
    """Return the files of the module that go into a wheel's program, or that make its licenses, on any platform, with those that Go needs to build them."""
    kinds = ("GoFiles", "IgnoredGoFiles", "SFiles", "HFiles", "IgnoredOtherFiles", "EmbedFiles")
    each = "".join(f'{{{{range .{k}}}}}{{{{$.Dir}}}}/{{{{.}}}}{{{{"\\n"}}}}{{{{end}}}}' for k in kinds)
    found = {"go.mod", "go.sum", "LICENSE"}
    for platform in PLATFORMS:
        system, machine = platform.split("/")
        listing = go("list", "-deps", "-f", f"{{{{with .Module}}}}{{{{if .Main}}}}{{{{with $}}}}{each}{{{{end}}}}{{{{end}}}}{{{{end}}}}", "./cmd/candor", "./internal/ci/licenses", GOOS=system, GOARCH=machine)
        found.update(Path(f).relative_to(MODULE).as_posix() for f in listing.split("\n") if f and not f.endswith("_test.go"))
    return found


def sdist(folder: Path) -> str:
    """Build the source distribution from a checkout; return its name."""
    says = build(host())[1]
    version = version_of(says)
    root = f"{NAME}-{version}"
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in [("PKG-INFO", metadata(version).encode()), ("VERSION", f"{says}\n".encode()), *((n, p.read_bytes()) for n, p in sources())]:
            entry = tarfile.TarInfo(f"{root}/{name}")
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    with open(folder / f"{root}.tar.gz", "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
        z.write(raw.getvalue())
    return f"{root}.tar.gz"


def bill(path: Path) -> str:
    """Write what a wheel's program is made of beside the wheel; return the file's name."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path) as z:
        [script] = [n for n in z.namelist() if ".data/scripts/" in n]
        program = Path(folder) / Path(script).name
        program.write_bytes(z.read(script))
        program.chmod(0o755)
        found = re.search(r"^\tmod\t\S+\t(\S+)", go("version", "-m", str(program)), re.M)
        says = found[1] if found else sources_version()
        name = f"{path.name}.cdx.json"
        made = Path(folder) / name
        go("run", CYCLONEDX, "bin", "-json", "-noserial", "-notimestamp", "-std", "-version", says, "-output", str(made), str(program), GOFLAGS="-trimpath")
        (path.parent / name).write_bytes(made.read_bytes())
    return name


# The backend, by PEP 517.


def build_wheel(wheel_directory: str, config_settings: Optional[dict[str, Any]] = None, metadata_directory: Optional[str] = None) -> str:
    return wheel(Path(wheel_directory), host())


def build_sdist(sdist_directory: str, config_settings: Optional[dict[str, Any]] = None) -> str:
    return sdist(Path(sdist_directory))


def main(words: list[str]) -> int:
    options, names = {w for w in words if w.startswith("-")}, [w for w in words if not w.startswith("-")]
    if len(names) != 1 or options - {"--here", "--release"}:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(names[0])
    folder.mkdir(parents=True, exist_ok=True)
    here, release = "--here" in options, "--release" in options
    made: list[str] = []
    built = sources_version()
    for platform in [host()] if here else PLATFORMS:
        made.append(wheel(folder, platform))
        if release:
            made.append(bill(folder / made[-1]))
    if not here:
        made.append(sdist(folder))
    if release:
        sums = "".join(f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in sorted(made))
        (folder / "SHA256SUMS").write_text(sums, encoding="utf-8")
        made.append("SHA256SUMS")
    if (now := sources_version()) != built:
        for name in made:
            (folder / name).unlink()
        print(f"the sources were {built} when the build began, and are {now} now; build again without changing them", file=sys.stderr)
        return 1
    print("\n".join(made))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
