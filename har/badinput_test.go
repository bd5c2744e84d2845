package har

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/agentenv/netlog/netlog"
)

// convertLines converts a log of lines, holds the HAR against the strict
// readers' rules and looks whether every line was counted.
func convertLines(t testing.TB, lines ...string) (Log, Stats) {
	t.Helper()
	log, stats := convertLog(t, openBytes(t, []byte(strings.Join(lines, "\n")+"\n")), Options{})
	if stats.Lines != int64(len(lines)) {
		t.Errorf("%d lines counted of %d", stats.Lines, len(lines))
	}
	return log, stats
}

// pair are the lines of a start and of one exchange with its end.
func pair(t testing.TB) (start, open, end string) {
	t.Helper()
	f := newFixture(t)
	f.exchange(post("application/json", []byte(`{"a":1}`)), ok("text/plain", []byte("abc")))
	lines := strings.Split(strings.TrimSuffix(f.buf.String(), "\n"), "\n")
	return lines[0], lines[1], lines[2]
}

// Whatever is wrong with a line, the export has the rest, and says what it lacks.
func TestBadInput(t *testing.T) {
	start, open, end := pair(t)
	other := func(line string, n, id int) string {
		line = strings.Replace(line, `{"n":2,`, fmt.Sprintf(`{"n":%d,`, n), 1)
		line = strings.Replace(line, `{"n":3,`, fmt.Sprintf(`{"n":%d,`, n), 1)
		return strings.Replace(line, `"id":2,`, fmt.Sprintf(`"id":%d,`, id), 1)
	}
	open2, end2 := other(open, 4, 4), other(end, 5, 4)
	message := `{"n":6,"event":"message","id":2,"t":"2026-03-04T05:06:07.000000Z","dir":"send","opcode":1,"wire_size":1,"frames":1,"text":"a"}`
	tests := []struct {
		name  string
		lines []string
		want  Stats // without Lines
	}{
		{"nothing wrong", []string{start, open, end, open2, end2}, Stats{Entries: 2}},
		{"no start", []string{open, end, open2, end2}, Stats{Entries: 2}},
		{"a start that can't be read", []string{start[:len(start)-1] + `,"x":}`, open, end}, Stats{Entries: 1, Unreadable: 1}},
		{"garbage", []string{start, "garbage", open, "\x00\xff\xfe", end, "", " ", "[]", "null", `"x"`}, Stats{Entries: 1, Unreadable: 7}},
		{"an unknown event", []string{start, open, `{"n":3,"event":"novelty","id":2,"t":"2026-03-04T05:06:07.000000Z","x":[{}]}`, other(end, 4, 2)}, Stats{Entries: 1}},
		{"unknown fields", []string{start, open[:len(open)-1] + `,"x":{"y":[null,1e9,"\u0000"]}}`, end}, Stats{Entries: 1}},
		{"a pair that is missing", []string{start, open2, end2}, Stats{Entries: 1}},
		{"an open line that is missing", []string{start, end, open2, end2}, Stats{Entries: 1, Orphans: 1}},
		{"an end that is missing", []string{start, open, open2, end2}, Stats{Entries: 2, Open: 1}},
		{"two ends", []string{start, open, end, other(end, 4, 2)}, Stats{Entries: 1, Unreadable: 1}},
		{"two opens", []string{start, open, open, end}, Stats{Entries: 1, Unreadable: 1}},
		{"two opens, the second behind the end", []string{start, open, end, open}, Stats{Entries: 1, Unreadable: 1}},
		{"every line twice", []string{start, start, open, open, end, end}, Stats{Entries: 1, Unreadable: 3}},
		{"an end before its open", []string{start, end, open}, Stats{Entries: 1, Open: 1, Orphans: 1}},
		{"ends in another order", []string{start, open, open2, end2, end}, Stats{Entries: 2}},
		{"a start in the end", []string{open, end, start}, Stats{Entries: 1}},
		{"a message of nothing", []string{start, open2, end2, message}, Stats{Entries: 1, Unreadable: 1}},
		{"a message behind the end", []string{start, open, end, message}, Stats{Entries: 1, Unreadable: 1}},
		{"an open of another's number", []string{start, other(open, 2, 7), end}, Stats{Unreadable: 1, Orphans: 1}},
		{"bad base64", []string{start, strings.Replace(open, `"base64":"`, `"base64":"!`, 1), end}, Stats{Unreadable: 1}},
		{"bad base64 of an answer", []string{start, open, strings.Replace(end, `"base64":"`, `"base64":"A`, 1)}, Stats{Entries: 1, Open: 1, Unreadable: 1}},
		{"a number beyond 64 bits", []string{start, open, strings.Replace(end, `"wait":3003`, `"wait":99999999999999999999`, 1)}, Stats{Entries: 1, Open: 1, Unreadable: 1}},
		{"a time that is none", []string{start, strings.Replace(open, "2026-03", "2026-13", 1), end}, Stats{Unreadable: 1, Orphans: 1}},
		{"no UTF-8", []string{start, strings.Replace(open, "POST", "PO\xffT", 1), end}, Stats{Unreadable: 1}},
		{"nested too deep", []string{start, open[:len(open)-1] + `,"x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}", end}, Stats{Unreadable: 1}},
		{"ends of lines with CR", []string{start + "\r", open + "\r", end + "\r"}, Stats{Unreadable: 3}},
	}
	for _, test := range tests {
		log, stats := convertLines(t, test.lines...)
		test.want.Lines = int64(len(test.lines))
		if stats != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, stats, test.want)
		}
		if log.Unreadable != test.want.Unreadable {
			t.Errorf("%s: _unreadable %d, want %d", test.name, log.Unreadable, test.want.Unreadable)
		}
	}
}

// The lines in any order, with some missing, repeated or cut.
func TestShuffledLines(t *testing.T) {
	f := newFixture(t)
	every(f)
	lines := strings.Split(strings.TrimSuffix(f.buf.String(), "\n"), "\n")
	opens := strings.Count(f.buf.String(), `"event":"open"`)
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		var some []string
		for _, i := range r.Perm(len(lines)) {
			switch r.IntN(20) {
			case 0: // missing
			case 1:
				some = append(some, lines[i], lines[i])
			case 2:
				some = append(some, lines[i][:r.IntN(len(lines[i]))])
			default:
				some = append(some, lines[i])
			}
		}
		var out bytes.Buffer
		stats, err := Convert(openBytes(t, []byte(lines[0]+"\n"+strings.Join(some, "\n")+"\n")), &out, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range faults(out.Bytes()) {
			if !strings.Contains(fault, "is before that of the entry above it") { // start lines that were moved part processes
				t.Error(fault)
			}
		}
		if stats.Lines != int64(len(some))+1 || stats.Entries > int64(opens) {
			t.Errorf("%d lines, %+v", len(some)+1, stats)
		}
		if t.Failed() {
			break
		}
	}
}

// smallLogs are a log for each entry of every's: a start line and its own.
func smallLogs(t testing.TB) [][]string {
	t.Helper()
	f := newFixture(t)
	every(f)
	lines := strings.Split(strings.TrimSuffix(f.buf.String(), "\n"), "\n")
	place := map[int64]int{}
	var logs [][]string
	for _, line := range lines[1:] {
		var head struct{ ID int64 }
		if err := json.Unmarshal([]byte(line), &head); err != nil {
			t.Fatal(err)
		}
		i, ok := place[head.ID]
		if !ok {
			i = len(logs)
			place[head.ID] = i
			logs = append(logs, []string{lines[0]})
		}
		logs[i] = append(logs[i], line)
	}
	return logs
}

// Each value of each line becomes one of another type, or out of its range.
func TestStrangeValues(t *testing.T) {
	strange := []string{"null", "-1", "-9223372036854775808", "9223372036854775807", "1e3", "0.5", "true", `""`, `"\ud800"`, "[]", "{}"}
	path := filepath.Join(t.TempDir(), "network.jsonl")
	tried := 0
	for _, lines := range smallLogs(t) {
		for at, line := range lines {
			for _, in := range values(t, line) {
				value := strange[tried%len(strange)] // each in turn: all of them for each would take a minute
				tried++
				changed := slices.Clone(lines)
				changed[at] = line[:in.begin] + value + line[in.end:]
				text := strings.Join(changed, "\n") + "\n"
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				log, err := netlog.OpenLog(path)
				if errors.Is(err, netlog.ErrNotLog) && at == 0 {
					continue // its first bytes are no line's
				} else if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				var out bytes.Buffer
				stats, err := Convert(log, &out, Options{})
				log.Close()
				if err != nil || stats.Lines != int64(len(changed)) || stats.Entries == 0 && stats.Unreadable == 0 {
					t.Fatalf("%v, %+v\n%s", err, stats, text)
				}
				list := slices.DeleteFunc(faults(out.Bytes()), func(fault string) bool {
					return strings.Contains(fault, "._sha256: ") // the log's own
				})
				if len(list) > 0 {
					t.Fatalf("%q\n%s", list, text)
				}
			}
		}
	}
	if tried < 1000 {
		t.Errorf("only %d values", tried)
	}
}

// A place is where a value stands in a line.
type place struct{ begin, end int }

// values finds the strings, numbers and words of a line that are no names.
func values(t testing.TB, line string) []place {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	var list []place
	var within []json.Delim
	name := false // the next token is one
	for {
		from := int(d.InputOffset())
		token, err := d.Token()
		if err == io.EOF {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		object := len(within) > 0 && within[len(within)-1] == '{'
		switch token {
		case json.Delim('{'), json.Delim('['):
			within = append(within, token.(json.Delim))
			name = token == json.Delim('{')
			continue
		case json.Delim('}'), json.Delim(']'):
			within = within[:len(within)-1]
			name = len(within) > 0 && within[len(within)-1] == '{'
			continue
		}
		if object && name {
			name = false
			continue
		}
		name = object
		from += len(line[from:]) - len(strings.TrimLeft(line[from:], ":, "))
		list = append(list, place{from, int(d.InputOffset())})
	}
}

// A line of 100 MB, be it one of ours or not, is gone past or through.
func TestLongLines(t *testing.T) {
	const size = 100_000_000
	start, open, end := pair(t)
	path := filepath.Join(t.TempDir(), "network.jsonl")
	for _, test := range []struct {
		name          string
		before, after string // the 100 MB
		want          Stats
	}{
		{"garbage", start + "\n", "\n" + open + "\n" + end + "\n", Stats{Lines: 4, Entries: 1, Unreadable: 1}},
		{"a head without an end", start + "\n" + open + "\n" + `{"n":3,"event":"end","id":2,"t":"2026-03-04T05:06:07.000000Z","x":"`, "\n", Stats{Lines: 3, Entries: 1, Open: 1, Unreadable: 1}},
		{"a field that is not known", start + "\n" + open + "\n" + end[:len(end)-1] + `,"x":"`, "\"}\n", Stats{Lines: 3, Entries: 1}},
		{"a URL", start + "\n" + strings.Replace(open, "https://shop.example/cart", "https://shop.example/\x00", 1) + "\n" + end + "\n", "", Stats{Lines: 3, Entries: 1}},
		{"a last line that is not whole", start + "\n" + open + "\n" + end + "\n", "", Stats{Lines: 3, Entries: 1}},
	} {
		before, after := test.before, test.after
		if head, tail, in := strings.Cut(before, "\x00"); in {
			before, after = head, tail
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(before)
		chunk := bytes.Repeat([]byte("x"), 1_000_000)
		for range size / len(chunk) {
			f.Write(chunk)
		}
		f.WriteString(after)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		log, err := netlog.OpenLog(path)
		if err != nil {
			t.Fatal(err)
		}
		stats, err := Convert(log, io.Discard, Options{})
		log.Close()
		if err != nil || stats != test.want {
			t.Errorf("%s: %+v, %v; want %+v", test.name, stats, err, test.want)
		}
	}
}

// What is no line of the log takes no memory, however long it is.
func TestLongGarbageAllocates(t *testing.T) {
	start, open, end := pair(t)
	log := openBytes(t, slices.Concat([]byte(start+"\n"), bytes.Repeat([]byte("x"), 32<<20), []byte("\n"+open+"\n"+end+"\n")))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Convert(log, io.Discard, Options{}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
		t.Errorf("%d bytes allocated", n)
	}
}
