"""Has WebArena-Verified grade a HAR or a trace by tasks of our own, as they are
and with each of their wrong expectations, and prints each verdict, a JSON object
a line. Usage: python with_webarena.py TRACE TASKS SITE FOLDER"""
import json
import logging
import sys
from pathlib import Path

from webarena_verified.api.internal.data_reader import WebArenaVerifiedDataReader
from webarena_verified.api.internal.evaluator import WebArenaVerifiedEvaluator
from webarena_verified.types.config import WebArenaVerifiedConfig
from webarena_verified.types.data import TaskSubset

trace, tasks, site, folder = sys.argv[1:]
dataset, graded = [], []


def add(task, number, expected):
    kind = "navigate" if task.get("navigate") else "mutate"
    answer = {"task_type": kind, "status": "SUCCESS", "retrieved_data": None}
    dataset.append({
        "sites": ["shopping"], "task_id": len(dataset), "intent_template_id": 1, "start_urls": ["__SHOPPING__"],
        "intent": task["name"], "intent_template": task["name"], "instantiation_dict": {}, "revision": 1,
        "eval": [
            {"evaluator": "AgentResponseEvaluator", "results_schema": {"type": "null"}, "expected": answer},
            {"evaluator": "NetworkEventEvaluator", **task.get("evaluator", {}), "expected": expected},
        ],
    })
    graded.append((task["name"], number, answer))


for task in json.loads(Path(tasks).read_text(encoding="utf-8")):
    add(task, 0, task["expected"])
    for number, patch in enumerate(task["wrong"], 1):
        add(task, number, {**task["expected"], **patch})

file = Path(folder) / "dataset.json"
file.write_text(json.dumps(dataset))
config = WebArenaVerifiedConfig(test_data_file=file, environments={"__SHOPPING__": {"urls": [site]}})
ids = list(range(len(dataset)))
subset = TaskSubset(task_ids=ids, checksum=TaskSubset.compute_checksum(ids))
evaluator = WebArenaVerifiedEvaluator(config=config, reader=WebArenaVerifiedDataReader(config, subset))
logging.disable(logging.CRITICAL)
for i, (name, number, answer) in enumerate(graded):
    result = evaluator.evaluate_task(task_id=i, agent_response=answer, network_trace=Path(trace))
    errors = [result.error_msg, *(r.error_msg for r in result.evaluators_results)]
    print(json.dumps({"task": name, "wrong": number, "status": result.status, "score": result.score, "errors": list(filter(None, errors))}))
