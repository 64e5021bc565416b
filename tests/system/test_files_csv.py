#!/usr/bin/env python3
"""Files: byte order marks, line ends, quotes that never close, and what is sent when one is met."""

import json
import os
import subprocess

from fisd_test import (FEATURES, FISCTL, FISD, Pipeline, csv_bytes, has, main, people, same, t_config,
                       test)

MARK = b"\xef\xbb\xbf"


def replay(p, data, name="rows.csv", *more):
    p.write(name, data)
    return p.fisctl("replay", name, *more)


def check_config(p):
    return subprocess.run([FISD, "--check-config", "fisd.yaml"], cwd=p.dir, capture_output=True,
                          text=True, timeout=180)


def records(p, since=0):
    return [json.loads(m.value) for m in p.consume("records")[since:]]


@test("a byte order mark and CRLF in every file change nothing")
def _():
    lines = [b'"age",hours,job,score', b'39,40,"clerk",1.5', b"50,13,driver,2"]
    rows = list(people(400, 1)), list(people(400, 2))
    names = ["id"] + FEATURES + ["hired"]
    files = {"initial.csv": csv_bytes(rows[0], names, "\r\n", MARK),
             "validation.csv": csv_bytes(rows[1], names + ["group"], "\r\n", MARK)}
    # Initial examples as JSON lines, with a mark too.
    json_lines = MARK + b"".join(json.dumps({k: r[k] for k in names}).encode() + b"\r\n"
                                 for r in rows[0])
    as_json = {"initial.jsonl": json_lines, "validation.csv": files["validation.csv"]}
    with Pipeline(t_config()) as plain, Pipeline(t_config(), files=files) as marked, \
            Pipeline(t_config(initial={"file": "initial.jsonl"}), files=as_json) as third:
        for p in (plain, marked, third):
            p.start(ready=None)
        same(replay(plain, b"\n".join(lines) + b"\n").stdout, "sent 2 records\n")
        same(replay(marked, MARK + b"\r\n".join(lines)).stdout, "sent 2 records\n")
        same(replay(third, MARK + b'{"age": 39, "hours": 40, "job": "clerk", "score": 1.5}\r\n'
                    b'{"age": 50, "hours": 13, "job": "driver", "score": 2}', "r.jsonl").stdout,
             "sent 2 records\n")
        expected = [{"age": 39, "hours": 40, "job": "clerk", "score": 1.5},
                  {"age": 50, "hours": 13, "job": "driver", "score": 2}]
        for p in (plain, marked, third):
            same(records(p), expected, p.name)
            p.wait_log(r" version version=1 ")
            p.wait_log(r"initial rows=400 features=8")
            p.wait_log(r"validation rows=400 groups=2")
        for i in range(2):
            # By place: the rows have no ids. The same scores also say: the same model.
            found = [p.wait_candidates([f"{p.topic('records')}/0/{i}".encode()])
                     [f"{p.topic('records')}/0/{i}".encode()] for p in (plain, marked, third)]
            same([c[1:3] for c in found], [found[0][1:3]] * 3, f"record {i}")


@test("no header, no rows, marks of other encodings: reported, and nothing is sent")
def _():
    p = Pipeline(t_config())
    for data, name, parts in (
            (MARK, "mark.csv", ["mark.csv", "no header"]),
            (b"", "empty.csv", ["empty.csv", "no header"]),
            (b"\r\n\n", "blank.csv", ["blank.csv", "no header"]),
            (b"\xff\xfe" + "age,hours,job,score\n1,2,clerk,3\n".encode("utf-16-le"), "wide.csv",
             ["wide.csv", "UTF-16"]),
            (b"\xfe\xff" + '{"age": 1}\n'.encode("utf-16-be"), "wide.jsonl",
             ["wide.jsonl", "UTF-16"]),
            (b"PK\3\4" + b"\0" * 20, "book.csv", ["book.csv", "a zip archive"]),
            (b"age,hours,job,age\n1,2,clerk,3\n", "twice.csv", ["twice.csv", "line 1", "age"]),
            (b"age,hours,,score\n1,2,clerk,3\n", "noname.csv", ["noname.csv", "line 1", "no name"]),
            (b"age,hours,job,score\n1,2,clerk\n", "short.csv", ["line 2", "3 fields", "4"]),
            (b"age,hours,job,score\n1,2,\xff,3\n", "utf8.csv", ["line 2", "job", "not UTF-8"])):
        r = replay(p, data, name)
        assert r.returncode == 1, f"{name}: exit {r.returncode}, {r.stdout}{r.stderr}"
        print("# " + r.stderr.strip().replace("\n", " | "))
        has(r.stderr, *parts)
    same(p.consume("records"), [])
    # A row that is not there is not an error: the header says what would be.
    same(replay(p, b"age,hours,job,score\n").stdout, "sent 0 records\n")


@test("a quote that never closes: line, what was sent, what was not")
def _():
    p = Pipeline(t_config())
    good = b"".join(b"%d,40,clerk,1.5\n" % (20 + i % 50) for i in range(1000))
    head = b"age,hours,job,score\n39,40,clerk,1\n"
    r = replay(p, head + b'50,13,"driver,2\n' + good)
    same(r.returncode, 1)
    has(r.stderr, "rows.csv", "line 3", "quote opened and not closed", "1 record was sent",
        "1,001 rows were not")
    same(len(records(p)), 1)

    # Closed two lines later: legal, and one row.
    r = replay(p, head + b'50,13,"dri\nv\ner",2\n' + good)
    same((r.returncode, r.stdout), (0, "sent 1,002 records\n"), r.stderr)
    got = records(p, 1)
    same(len(got), 1002)
    same(got[1], {"age": 50, "hours": 13, "job": "dri\nv\ner", "score": 2})

    for tail, parts in ((b'50,13,"dri"ver,2\n', ["line 3", "after", "quote"]),
                        (b'50,13,dri"ver,2\n', ["line 3", "quote"]),
                        (b'50,13,"driver', ["line 3", "quote opened and not closed"])):
        r = replay(p, head + tail)
        same(r.returncode, 1)
        has(r.stderr, "1 record was sent", "1 row was not", *parts)


@test("a quote that never closes in 300 MB: the same, in bounded memory")
def _():
    p = Pipeline(t_config())
    path = os.path.join(p.dir, "large.csv")
    block = b"39,40,clerk,1.5\n" * 65536
    with open(path, "wb") as f:
        f.write(b'age,hours,job,score\n39,40,clerk,1\n50,13,"driver,2\n')
        for _ in range(300):
            f.write(block)
    command = [FISCTL, "-c", os.path.join(p.dir, "fisd.yaml"), "replay", path]
    with open(os.path.join(p.dir, "out"), "w+b") as out:
        child = subprocess.Popen(command, stdout=out, stderr=out)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        printed = out.read().decode()
    os.unlink(path)
    same(child.returncode, 1, printed)
    print("# " + printed.strip().replace("\n", " | "))
    has(printed, "line 3", "quote", "1 record was sent", "19,660,801 rows were not")
    assert used.ru_maxrss < 100_000, f"peak memory {used.ru_maxrss} kB"
    same(len(records(p)), 1)


@test("replay and label: files with other delimiters, and a wrong one is noticed at the header")
def _():
    p = Pipeline(t_config())
    row = {"age": 39, "hours": 40, "job": "a, b", "score": 1.5}
    text = b"age;hours;job;score\n39;40;a, b;1.5\n"
    r = replay(p, text)
    same(r.returncode, 1)
    has(r.stderr, "rows.csv: line 1: the header has 1 column with ',' and 4 with ';': use "
        "--delimiter semicolon / csv.delimiter: semicolon")
    for given, name in ((b";", "semicolon"), (b";", ";"), (b"|", "pipe"), (b"\t", "tab")):
        before = len(records(p))
        r = replay(p, text.replace(b";", given), "rows.csv", "--delimiter", name)
        same((r.returncode, r.stdout), (0, "sent 1 record\n"), r.stderr)
        same(records(p)[before:], [row])
    r = replay(p, text, "rows.csv", "--delimiter", "colon")
    same(r.returncode, 2)
    has(r.stderr, "--delimiter: found 'colon', allowed comma, semicolon, tab, pipe")
    p = Pipeline(t_config(csv={"delimiter": "semicolon"}))
    same(replay(p, text).stdout, "sent 1 record\n")
    p.write("answers.csv", b"id,label\n1,yes\n")
    r = p.fisctl("label", "--answers", "answers.csv", "--until-idle", "1")
    same(r.returncode, 1)
    has(r.stderr, "line 1: the header has 1 column with ';' and 2 with ','")
    r = p.fisctl("label", "--answers", "answers.csv", "--until-idle", "1", "--delimiter", "comma")
    same(r.returncode, 0, r.stderr)


@test("fisd: files of examples by csv.delimiter; a wrong one stops the start and names the right one")
def _():
    names = ["id"] + FEATURES + ["hired"]
    p = Pipeline(t_config())
    p.write("initial.csv", csv_bytes(people(100, 1), names).replace(b",", b";"))
    p.start(ready=None)
    same(p.ended(), 2, "exit status")
    has(p.log(), "initial.csv: line 1: the header has 1 column with ',' and 6 with ';': use")
    p.config["csv"] = {"delimiter": "semicolon"}
    p.save()
    p.start(ready=None)
    same(p.ended(), 2, "exit status")
    has(p.log(), "validation.csv: line 1: the header has 1 column with ';' and 7 with ',': use")


@test("fisd: a quote that never closes in a file of examples stops the start")
def _():
    p = Pipeline(t_config())
    names = ["id"] + FEATURES + ["hired"]
    lines = csv_bytes(people(100, 1), names).split(b"\n")
    lines[2] = lines[2].replace(b"s1-1,", b'"s1-1,')
    p.write("initial.csv", b"\n".join(lines))
    p.start(ready=None)
    same(p.ended(), 2, "exit status")
    has(p.log(), "initial.csv", "line 3", "quote opened and not closed")
    p.write("initial.csv", MARK)
    p.start(ready=None)
    same(p.ended(), 2, "exit status")
    has(p.log(), "initial.csv", "no header")


@test("--check-config and a start name all that is wrong in both files at once, with status 2")
def _():
    names = ["id"] + FEATURES + ["hired"]
    rows = list(people(40, 1))
    rows[4]["age"], rows[6]["hours"], rows[9]["hired"] = "NA", "1,041", "maybe"
    judged = list(people(40, 2))
    judged[3]["score"], judged[5]["group"] = "41.0%", "?"
    p = Pipeline(t_config(validation={"groups": ["group=A", "group=B", "group=C"]}))
    p.write("initial.csv", csv_bytes(rows, names))
    p.write("validation.csv", csv_bytes(judged, names + ["group"]))
    messages = ['key \'initial.file\'', 'initial.csv: line 6: column age: number expected, text "NA"',
                'initial.csv: line 8: column hours: number expected, text "1,041" found (is it 1041?)',
                'initial.csv: line 11: column hired: label "maybe": not a class',
                "key 'validation.file'", "validation.csv: line 5: column score: a decimal number"]
    r = check_config(p)
    same(r.returncode, 2, r.stdout + r.stderr)
    has(r.stderr, *messages, "warning", "validation.csv: line 7: left out, since a sensitive value")
    p.start(ready=None)
    same(p.ended(), 2, "exit status")
    has(p.log(), *messages)
    p.write("initial.csv", csv_bytes(people(40, 1), names))
    judged[3]["score"] = 1
    p.write("validation.csv", csv_bytes(judged, names + ["group"]))
    r = check_config(p)
    same(r.returncode, 0, r.stderr)
    has(r.stderr, "validation.groups has group=C, and no row is in it")


@test("codes that differ between the sets: merged where they are one value, else an alarm")
def _():
    codes = {"clerk": 1, "driver": 2, "nurse": 3}
    names = ["id"] + FEATURES + ["hired"]
    sets = {}
    for name, seed, spell in (("initial", 1, "%d"), ("validation", 2, "%.1f")):
        sets[name] = list(people(400, seed))
        for row in sets[name]:
            row["job"] = spell % codes[row["job"]]
    c = t_config(http={"listen": "127.0.0.1:0"}, training={"warm_up_epochs": 2})
    with Pipeline(c, files={
            "initial.csv": csv_bytes(sets["initial"], names),
            "validation.csv": csv_bytes(sets["validation"], names + ["group"])}) as p:
        p.start()
        same("categories_unseen" in p.log(), False, p.log())
        p.stop()
        for row in sets["validation"]:
            row["job"] = "job " + row["job"]
        p.write("validation.csv", csv_bytes(sets["validation"], names + ["group"]))
        p.start(ready=r" restored ")
        p.wait_log(r'categories_unseen set=validation column="job" rows=400 of=400')
        p.wait_log(r"alarm .*categories_unseen")


if __name__ == "__main__":
    main()
