package api

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentenv/netlog/netlog"
)

// An answer of network, read as strictly as it is promised.
type answer struct {
	Lines      []json.RawMessage `json:"lines"`
	Next       int64             `json:"next"`
	More       bool              `json:"more"`
	BegunAgain bool              `json:"begun_again"`
	Unreadable int64             `json:"unreadable"`
	Missing    int64             `json:"missing"`
}

// ask calls network. It is safe in other goroutines than the test's.
func (w *world) ask(params string) (answer, error) {
	var a answer
	r, b, err := w.try("POST", networkPath, strings.NewReader(params))
	if err != nil {
		return a, err
	}
	if r.StatusCode != 200 || r.Header.Get("Content-Type") != "application/json" {
		return a, fmt.Errorf("%s: %d %s", params, r.StatusCode, b)
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return a, err
	}
	if a.Lines == nil {
		return a, fmt.Errorf("%s: lines is null", params)
	}
	return a, nil
}

// gives holds what an answer to these params is, each line by its number.
func (w *world) gives(params, want string) {
	w.t.Helper()
	a, err := w.ask(params)
	if err != nil {
		w.t.Error(err)
		return
	}
	var numbers []int64
	for _, l := range a.Lines {
		line, err := netlog.ParseLine(l)
		if err != nil {
			w.t.Errorf("%s: %s: %v", params, l, err)
			return
		}
		numbers = append(numbers, line.N)
	}
	got := fmt.Sprint(numbers, " next ", a.Next)
	if a.More {
		got += " more"
	}
	if a.BegunAgain {
		got += " begun again"
	}
	if a.Unreadable+a.Missing > 0 {
		got += fmt.Sprint(" unreadable ", a.Unreadable, " missing ", a.Missing)
	}
	if got != want {
		w.t.Errorf("%s gives %s, want %s", params, got, want)
	}
}

func TestNetworkPages(t *testing.T) {
	w := newWorld(t, "")
	w.gives(`{}`, "[] next 0") // there is no log yet
	w.gives(`{"after":7}`, "[] next 7")
	w.write(w.log, lines(1, 5, 0))
	w.gives(``, "[1 2 3 4 5] next 5")
	w.gives(`{"after":0}`, "[1 2 3 4 5] next 5")
	w.gives(`{"after":3}`, "[4 5] next 5")
	w.gives(`{"after":5}`, "[] next 5")

	two := len(line(2, 0, "")) + len(line(3, 0, ""))
	w.gives(fmt.Sprintf(`{"after":1,"limit":%d}`, two), "[2 3] next 3 more")
	w.gives(fmt.Sprintf(`{"after":1,"limit":%d}`, two-1), "[2] next 2 more")
	w.gives(fmt.Sprintf(`{"after":3,"limit":%d}`, two), "[4 5] next 5")
	w.gives(`{"limit":1}`, "[1] next 1 more")

	sixth := line(6, 0, "")
	w.appendTo(w.log, sixth[:len(sixth)-1])
	w.gives(`{"after":5}`, "[] next 5") // it is not whole
	w.appendTo(w.log, "\n")
	w.gives(`{"after":5}`, "[6] next 6")
	w.appendTo(w.log, "nonsense\n"+line(7, 0, ""))
	w.gives(`{"after":5}`, "[6 7] next 7 unreadable 1 missing 0")
}

func TestNetworkGivesLinesToTheByte(t *testing.T) {
	w := newWorld(t, "")
	odd := strings.TrimSuffix(line(2, 0, "x"), "}\n") + `,"later":[1.0, 2e3, "<&>é\/\u00e9"] }`
	w.write(w.log, line(1, 0, "")+odd+"\n")
	a, err := w.ask(`{"after":1}`)
	if err != nil || len(a.Lines) != 1 || string(a.Lines[0]) != odd {
		t.Errorf("%s, %v", a.Lines, err)
	}
}

func TestNetworkOfALogThatWasBegunAgainCutOrRotated(t *testing.T) {
	w := newWorld(t, "")
	w.write(w.log, lines(1, 9, 0))
	w.gives(`{"after":9}`, "[] next 9")
	w.write(w.log, lines(1, 4, 1))
	w.gives(`{"after":9}`, "[1 2 3 4] next 4 begun again")
	w.gives(`{"after":9,"limit":1}`, "[1] next 1 more begun again")
	w.gives(`{"after":9,"wait":30}`, "[1 2 3 4] next 4 begun again")

	// Its writer goes on with its numbers in a log that was cut to nothing.
	w.write(w.log, "")
	w.gives(`{"after":4}`, "[] next 4")
	w.write(w.log, lines(5, 6, 1))
	w.gives(`{"after":4}`, "[5 6] next 6")
	w.gives(`{}`, "[5 6] next 6 unreadable 0 missing 4")

	// A rotation is neither, whatever has been deleted since.
	if err := os.Rename(w.log, strings.Replace(w.log, ".jsonl", ".5.jsonl", 1)); err != nil {
		t.Fatal(err)
	}
	w.write(w.log, lines(7, 8, 1))
	w.gives(`{"after":5}`, "[6 7 8] next 8")
	if err := os.Remove(strings.Replace(w.log, ".jsonl", ".5.jsonl", 1)); err != nil {
		t.Fatal(err)
	}
	w.gives(`{"after":5}`, "[7 8] next 8 unreadable 0 missing 1")
}

func TestNetworkGivesALineThatIsLongerThanItsLimit(t *testing.T) {
	w := newWorld(t, "")
	long := line(2, 0, strings.Repeat("x", 20<<20))
	w.write(w.log, line(1, 0, "")+long+line(3, 0, ""))
	a, err := w.ask(`{"after":1,"limit":1000}`)
	if err != nil || len(a.Lines) != 1 || string(a.Lines[0])+"\n" != long || a.Next != 2 || !a.More {
		t.Errorf("%d lines, next %d, more %v, %v", len(a.Lines), a.Next, a.More, err)
	}
	w.gives(`{"after":2,"limit":1000}`, "[3] next 3")
}

func TestNetworkRefusesOtherParams(t *testing.T) {
	w := newWorld(t, "")
	for _, c := range []struct{ body, names string }{
		{`{"after":-1}`, `"after"`},
		{`{"after":"1"}`, `"after"`},
		{`{"after":1.5}`, `"after"`},
		{`{"after":null}`, `"after"`},
		{`{"after":true}`, `"after"`},
		{`{"after":[1]}`, `"after"`},
		{`{"after":1e2}`, `"after"`},
		{`{"after":9223372036854775808}`, `"after"`},
		{`{"limit":0}`, `"limit"`},
		{`{"limit":16777217}`, `"limit"`},
		{`{"limit":"all"}`, `"limit"`},
		{`{"wait":-0.1}`, `"wait"`},
		{`{"wait":30.01}`, `"wait"`},
		{`{"wait":"1s"}`, `"wait"`},
		{`{"wait":null}`, `"wait"`},
		{`{"wait":{}}`, `"wait"`},
		{`{"After":1}`, `"After"`},
		{`{"before":1,"zzz":1}`, `"before"`},
		{`[1]`, "object"},
		{`"after"`, "object"},
		{`null`, "object"},
		{`1`, "object"},
		{`{"after":1`, "JSON"},
		{`{"after":1}{}`, "JSON"},
		{`{after:1}`, "JSON"},
		{"\xff", "JSON"},
		{`{"after":1,"x":"` + strings.Repeat("x", maxParams) + `"}`, "bytes"},
	} {
		message := w.fails(400, "invalid_params", "POST", networkPath, c.body)
		if !strings.Contains(message, c.names) {
			t.Errorf("%.60s: %q does not name %s", c.body, message, c.names)
		}
	}
	for _, body := range []string{`{"after":0,"limit":16777216,"wait":0}`, `{"wait":0.001}`, `{"after":9223372036854775807}`, " {} "} {
		if _, err := w.ask(body); err != nil {
			t.Error(err)
		}
	}
}

func TestNetworkOfWhatIsNoLog(t *testing.T) {
	w := newWorld(t, "")
	if err := os.Mkdir(w.log, 0o700); err != nil {
		t.Fatal(err)
	}
	w.gives(`{}`, "[] next 0") // the folder of a log that is not there yet
	w.write(w.log+"/network.jsonl", lines(1, 2, 0))
	w.gives(`{}`, "[1 2] next 2")
	if err := os.RemoveAll(w.log); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(os.DevNull, w.log); err != nil {
		t.Fatal(err)
	}
	w.fails(500, "extension_failed", "POST", networkPath, `{}`)
	w.fails(500, "extension_failed", "GET", harPath, "")
}

func TestNetworkWaitsForALine(t *testing.T) {
	w := newWorld(t, "")
	w.write(w.log, lines(1, 2, 0))
	asked := make(chan error, 1)
	var got answer
	go func() {
		a, err := w.ask(`{"after":2,"wait":30}`)
		got = a
		asked <- err
	}()
	for n := int64(3); ; n++ { // whatever comes after the call
		w.appendTo(w.log, line(n, 0, ""))
		select {
		case err := <-asked:
			if err != nil || len(got.Lines) == 0 || got.Lines[0][5] != '3' {
				t.Errorf("%s, %v", got.Lines, err)
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestNetworkStopsWaitingWhenTheServerStops(t *testing.T) {
	w := newWorld(t, "")
	w.write(w.log, lines(1, 2, 0))
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if a, err := w.ask(`{"after":2,"wait":30}`); err != nil || a.Next != 2 {
			t.Errorf("next %d, %v", a.Next, err)
		}
	})
	w.stop()
	waiting.Wait()
}

// A poller has every line once and in order, while they are written.
func TestAPollerHasEveryLineOnce(t *testing.T) {
	w := newWorld(t, "")
	const requests = 1024
	writer, err := netlog.OpenWriter(netlog.WriterConfig{Path: w.log, Program: "test", Mode: "proxy", Sync: netlog.SyncNever, MaxBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	var working sync.WaitGroup
	for i := range 4 {
		working.Go(func() {
			for range requests / 4 {
				at := time.Now()
				id := writer.Open(&netlog.Open{Time: at, Kind: netlog.KindTunnel, Via: netlog.ViaTunnel, Client: "127.0.0.1:50000", Connection: int64(i) + 1, Target: "shop.test:443"})
				writer.End(id, &netlog.End{Time: at, Timings: netlog.NoTimings(0), Tunnel: &netlog.Tunnel{}})
			}
		})
	}
	ended := make(chan int64)
	go func() {
		working.Wait()
		if err := writer.Close(); err != nil {
			t.Error(err)
		}
		ended <- writer.Stats().Last
	}()
	last, next := int64(-1), int64(0)
	for next != last {
		a, err := w.ask(fmt.Sprintf(`{"after":%d,"limit":2000,"wait":0.05}`, next))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range a.Lines {
			head, err := netlog.ParseLine(l)
			if err != nil || head.N != next+1 {
				t.Fatalf("line %s after %d: %v", l, next, err)
			}
			next++
		}
		if a.Next != next || a.BegunAgain || a.Unreadable+a.Missing != 0 {
			t.Fatalf("after %d: %+v", next, a)
		}
		if last < 0 {
			select {
			case last = <-ended:
			default:
			}
		}
	}
	if next < 2*requests {
		t.Errorf("%d lines of %d requests", next, requests)
	}
}
