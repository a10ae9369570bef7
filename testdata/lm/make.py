"""Writes sample files of lm-evaluation-harness 0.4.13 for the tests, by the harness itself.

    python -m venv v && v/bin/pip install lm-eval==0.4.13 && v/bin/python make.py

Run here with Python 3.11, lm-eval 0.4.13, datasets 5.2.0, numpy 2.4.6. torch is not needed. The tasks and the model are made up: a
log-likelihood depends on the SHA-256 of prompt and continuation, so every run gives the same numbers. Two models are two folders.
"""

import copy
import hashlib
import json
import os
import pathlib
import re
import shutil
import tempfile

HERE = pathlib.Path(__file__).parent.resolve()
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_CACHE"] = tempfile.mkdtemp()

from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager


class Hashed(LM):
    tokenizer_name = "none"

    def __init__(self, salt):
        super().__init__()
        self.salt = salt

    def loglikelihood(self, requests, disable_tqdm=False):
        out = []
        for r in requests:
            context, continuation = r.args[:2]
            h = hashlib.sha256(f"{self.salt}|{context}|{continuation}".encode()).digest()
            u = int.from_bytes(h[:6], "big") / 2**48
            out.append((-(0.2 + u) * (1 + 0.3 * len(continuation)), h[7] < 20))
        return out

    def loglikelihood_rolling(self, requests, disable_tqdm=False):
        return [-1.0 for _ in requests]

    def generate_until(self, requests, disable_tqdm=False):
        return ["some text" for _ in requests]


class Chat(Hashed):
    """A model with a chat template, with which the harness writes no delimiter, unless the answer has a prefix."""

    def apply_chat_template(self, history, add_generation_prompt=True):
        return "".join(f"<{m['role']}>{m['content']}" for m in history)

    def chat_template(self, apply=False):
        return "<role>content" if apply else ""


WORDS = ["Kraków", "a river", "the sea", "Ünïcödé", "two words", "x", "日本", "an answer of some length"]


def docs():
    """The documents of each task."""
    ragged, full, digits, yes_no, blank, several = [], [], [], [], [], []
    for i in range(12):
        k = 2 + i * 5 % 5
        ragged.append({"question": f"Question {i}?", "choices": [WORDS[(i + j) % 8] for j in range(k)], "answer": (i * 7 + 1) % k, "subject": "geo" if i % 3 else "art"})
        full.append({"question": f"What is it, {i}?", "choices": [WORDS[(3 * i + j) % 8] for j in range(4)], "answer": (i * 3 + 2) % 4})
        digits.append({"question": f"How many, {i}?", "choices": ["1", "2", "3", "0"], "answer": str((i * 5 + 3) % 4)})
        yes_no.append({"passage": f"Passage {i}.", "label": ["no", "yes"][i % 5 == 0]})
        blank.append({"before": f"The cup was in the box {i} because the", "options": ["cup", "box"], "answer": i * i % 3 % 2})
        several.append({"question": f"Which, {i}?", "choices": ["A", "B", "C"], "answer": [0, 2] if i == 4 else [i % 3]})
    return {"ragged": ragged, "full": full, "digits": digits, "yes_no": yes_no, "blank": blank, "several": several,
            "answers": [{"question": f"Say {i}", "answer": str(i)} for i in range(3)]}


TASKS = {
    "ragged": ("{{question}}", "answer", "choices", " ", ["acc", "acc_norm", "acc_bytes"], None),
    "full": ("{{question}}", "answer", "choices", "\n", ["acc", "acc_norm", "acc_bytes", "acc_mutual_info", "brier_score"], None),
    "digits": ("{{question}}", "answer", "choices", " ", ["acc"], None),
    "yes_no": ("{{passage}}?", "label", ["no", "yes"], " ", ["acc", "acc_norm"], ["first", "again"]),
    "blank": ("answer", " is too large.", "{{[before + ' ' + options[0], before + ' ' + options[1]]}}", " ", ["acc"], None),
    "several": ("{{question}}", "answer", "choices", " ", ["acc"], None),
    "answers": ("{{question}}", "{{answer}}", None, " ", ["exact_match"], None),
}


def write_tasks(folder, prefixed=()):
    for name, rows in docs().items():
        text, target, choice, delimiter, metrics, filters = TASKS[name]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), encoding="utf-8")
        task = {"task": name, "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": f"{name}.jsonl"}}, "test_split": "test",
                "output_type": "multiple_choice" if choice else "generate_until", "doc_to_text": text, "doc_to_target": target,
                "target_delimiter": delimiter, "metric_list": [{"metric": m} for m in metrics], "metadata": {"version": 1.0}}
        if name in prefixed:
            task["gen_prefix"] = "Answer:"
        if choice:
            task["doc_to_choice"] = choice
        else:
            task["generation_kwargs"] = {"until": ["\n"]}
        if filters:
            task["filter_list"] = [{"name": f, "filter": [{"function": "take_first"}]} for f in filters]
        (folder / f"{name}.yaml").write_text(json.dumps(task), encoding="utf-8")  # JSON is YAML


def run(model, salt, tasks, folder, again=False, chat=False):
    tracker = EvaluationTracker(output_path=str(HERE / model / "results.json"))
    manager = TaskManager(include_path=str(folder), include_defaults=False)
    results = simple_evaluate(model=(Chat if chat else Hashed)(salt), tasks=tasks, task_manager=manager, log_samples=True, bootstrap_iters=0,
                              apply_chat_template=chat, evaluation_tracker=tracker)
    samples = results.pop("samples")
    for key in ["git_hash", "pretty_env_info", "date", "upper_git_hash", "config"]:
        results.pop(key, None)
    tracker.save_results_aggregated(results=results, samples=samples)
    for name in tasks:
        for _ in range(2 if again else 1):
            tracker.save_results_samples(task_name=name, samples=copy.deepcopy(samples[name]))
    for f in (HERE / model).iterdir():
        if f.suffix == ".json":  # what differs from run to run
            text = re.sub(r'"config_source": ".*/', '"config_source": "', f.read_text(encoding="utf-8"))
            f.write_text(re.sub(r'("total_evaluation_time_seconds": )".*"', r'\1"1"', text), encoding="utf-8")
        f.rename(f.with_name(f.name.replace(tracker.date_id, "2026-11-23T12-00-00.000000")))


if __name__ == "__main__":
    for model in ["one", "two", "doubled", "chat"]:
        shutil.rmtree(HERE / model, ignore_errors=True)
    folder = pathlib.Path(tempfile.mkdtemp())
    os.chdir(folder)
    write_tasks(folder)
    run("one", 1, list(TASKS), folder)
    run("two", 2, ["ragged", "full"], folder)
    run("doubled", 1, ["ragged"], folder, again=True)
    write_tasks(folder, prefixed=["ragged"])
    run("chat", 1, ["ragged", "full"], folder, chat=True)
