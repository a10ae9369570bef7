"""Checks the manifest of Kubernetes and the Dockerfile, in a folder, and that the checks find faults."""
import copy
import pathlib
import sys

import kubernetes_validate
import yaml


def job(m):
    """Raises an error for what the API server would refuse, or what the command line does not fit."""
    kubernetes_validate.validate(m, "1.31", strict=True)
    spec, pod = m["spec"], m["spec"]["template"]["spec"]
    # The schema has these as texts of any kind.
    assert spec["completionMode"] in ("Indexed", "NonIndexed"), spec["completionMode"]
    assert pod["restartPolicy"] in ("Never", "OnFailure"), pod["restartPolicy"]
    assert spec["completionMode"] == "Indexed", "--shard k8s/N needs indices"
    args = pod["containers"][0]["args"]
    assert f"--shard=k8s/{spec['completions']}" in args, args


def dockerfile(text):
    last = text[text.rindex("FROM "):].splitlines()
    assert last[0] == "FROM scratch", last[0]
    user = [l for l in last if l.startswith("USER ")]
    assert user and not user[-1].split()[1].startswith(("0", "root")), user
    assert any(l.startswith("COPY") and "/etc/ssl/certs/ca-certificates.crt" in l for l in last), "no certificates"
    assert any(l == 'ENTRYPOINT ["/candor"]' for l in last), "a shell form has no shell"


def refused(check, what):
    try:
        check(what)
    except Exception:
        return
    raise SystemExit(f"not found: {what}")


folder = pathlib.Path(sys.argv[1])
good = yaml.safe_load((folder / "job.yaml").read_text())
job(good)
for path, key, value in [
    (["spec"], "completionMode", "Index"), (["spec", "template", "spec"], "restartPolicy", "Always"), (["spec"], "completion", 3),
    (["spec"], "completions", 9), (["spec"], "parallelism", "four"), (["spec", "template", "spec", "containers", 0], "argz", []),
]:
    bad = copy.deepcopy(good)
    at = bad
    for k in path:
        at = at[k]
    at[key] = value
    refused(job, bad)
text = (folder / "Dockerfile").read_text()
dockerfile(text)
for old, new in [("FROM scratch", "FROM alpine"), ("USER 65534:65534", "USER 0"), ("COPY --from", "# COPY --from")]:
    refused(dockerfile, text.replace(old, new))
print("the manifest and the Dockerfile: as their schemas and this program want them")
