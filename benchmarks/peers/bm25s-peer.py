"""bm25s beside the sparse index: the same postings and queries, top k with its default (numpy) backend, one thread."""

import json
import os
import statistics
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
import bm25s
import numpy as np
from bm25s import selection

job = json.load(open(sys.argv[1]))
k = job["k"]
retriever = bm25s.BM25(backend="numpy")
retriever.scores = {
    "data": np.fromfile(job["values"], dtype="<f4"),
    "indices": np.fromfile(job["rows"], dtype="<i4"),
    "indptr": np.fromfile(job["starts"], dtype="<i4"),
    "num_docs": job["documents"],
}
# Left out for every method but two of BM25's.
retriever.nonoccurrence_array = None


def search(ids):
    return selection.topk(retriever.get_scores_from_ids(ids), k=k, sorted=True, backend="numpy")


times, found = [], []
for turn in range(3):
    for ids in job["queries"]:
        start = time.perf_counter()
        _, rows = search(ids)
        times.append(time.perf_counter() - start)
        if turn == 0:
            found.append(rows.tolist())
print(json.dumps({"version": bm25s.__version__, "ms": 1000 * statistics.median(times), "found": found}))
