// Package har turns a network log into HAR 1.2 (the HTTP Archive format).
//
// [WriteFile] writes a HAR beside other files, whole or not at all; [Convert]
// streams one to a writer:
//
//	log, err := netlog.OpenLog("network.jsonl")
//	…
//	defer log.Close()
//	stats, err := har.WriteFile(log, "network.har", har.Options{Version: "1.0"})
//
// [Entries] gives the entries one by one instead, [Assembler] those of a log that
// is being written as they end, and [Reader] those of any HAR, another program's
// too. A [Filter] says which, a [Profile] makes them for one reader, and a
// [Format] compresses the HAR or makes it a Playwright trace.
//
// [Check] holds any HAR against the schema, against what the schema can't say, and
// against the rules of those who read HARs.
//
// What it promises:
//
//   - One entry for each open line that the filter keeps, in the order of the
//     processes and, within one, of the open lines' times. A request without an
//     answer has status -1; one that is still going has `_open`.
//   - The same log gives the same bytes: pure ASCII, fixed field order, no null,
//     every field that a strict reader asks for.
//   - time is the exact sum of the timings that are not -1, and ssl lies inside
//     connect; content.size is bodySize + compression where compression is given.
//   - Bodies are decoded (gzip, deflate, br, zstd, stacked). A body that can't be
//     is there in base64 with `_undecoded`; one whose coding lacks its end is decoded
//     as far as it goes, with `_misencoded`; one of which only a part is there
//     has `_truncated`. Decoding stops at a limit, so that a bomb costs no more,
//     and what is split into parts (forms, events, messages) at 100,000 of them.
//   - A line that can't be used is counted and never fails the export.
//
// Two passes are made over the log, so it has to be a file. Memory grows with
// the number of entries (some 60 bytes each) and never with their bodies. Entries
// are made by a few goroutines at once; one with much of a body is made alone.
//
// It reads only the log: what the browser took from its cache or never sent is
// not in a HAR of ours. It removes no secrets: a HAR holds cookies and
// passwords as the log does, and is made readable by its owner alone.
package har
