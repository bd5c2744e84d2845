package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A witness is one request as one party has it. What a party can't know is nil.
type witness struct {
	method, url string
	status      int
	body        *string // the answer's, decoded
	posted      *string // the request's
}

func (w witness) String() string { return fmt.Sprintf("%s %s %d", w.method, w.url, w.status) }

// agree compares what two parties say of the same requests, in whatever
// order: each is found once in the other, with the same bodies.
func agree(t *testing.T, nameA string, a []witness, nameB string, b []witness) {
	t.Helper()
	count := map[string][2]int{}
	inB := map[string][]witness{}
	for i, side := range [][]witness{a, b} {
		for _, w := range side {
			key := w.String()
			c := count[key]
			c[i]++
			count[key] = c
			if i == 1 {
				inB[key] = append(inB[key], w)
			}
		}
	}
	if len(a) == 0 {
		t.Errorf("%s has no request at all", nameA)
	}
	for _, key := range sortedKeys(count) {
		if c := count[key]; c[0] != c[1] {
			t.Errorf("%s: %s has it %d times, %s %d times", key, nameA, c[0], nameB, c[1])
		}
	}
	for _, part := range []struct {
		name string
		of   func(witness) *string
	}{
		{"answer's body", func(w witness) *string { return w.body }},
		{"request's body", func(w witness) *string { return w.posted }},
	} {
		for _, w := range a {
			said := part.of(w)
			if said == nil {
				continue
			}
			others := slices.DeleteFunc(slices.Clone(inB[w.String()]), func(o witness) bool { return part.of(o) == nil })
			if len(others) > 0 && !slices.ContainsFunc(others, func(o witness) bool { return *part.of(o) == *said }) {
				t.Errorf("%s: the %s is %.300q by %s, %.300q by %s", w, part.name, *said, nameA, *part.of(others[0]), nameB)
			}
		}
	}
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// byChromium is what the browser's own events say.
func byChromium(all []*fetched) []witness {
	var ws []witness
	for _, f := range all {
		w := witness{method: f.Method, url: f.URL, status: f.Status}
		if f.HasBody {
			w.body = &f.Body
		}
		if f.Posted != "" {
			w.posted = &f.Posted
		}
		ws = append(ws, w)
	}
	return ws
}

// byOrigin is what the Go origin's own record says; its bodies are as sent,
// so a coded one is not compared here.
func byOrigin(all []access, hosts ...string) []witness {
	var ws []witness
	for _, a := range all {
		if !isOf(a.URL, hosts) {
			continue
		}
		w := witness{method: a.Method, url: a.URL, status: a.Status}
		posted := string(a.RequestBody)
		w.posted = &posted
		if body := string(a.ResponseBody); a.Method != "HEAD" && !strings.Contains(a.URL, "/coded/") && a.Status != 101 {
			w.body = &body
		}
		if a.Status == 101 {
			w.url = "ws" + strings.TrimPrefix(w.url, "http")
		}
		ws = append(ws, w)
	}
	return ws
}

// byNginx is what nginx's access log says.
func byNginx(all []access) []witness {
	var ws []witness
	for _, a := range all {
		w := witness{method: a.Method, url: a.URL, status: a.Status}
		if a.Status == 101 {
			w.url = "ws" + strings.TrimPrefix(w.url, "http")
		}
		ws = append(ws, w)
	}
	return ws
}

// byLog is what the log says; its bodies are as they came on the wire, so
// that the answers' are left to the HAR, but for the uncoded ones.
func byLog(all []entry) []witness {
	var ws []witness
	for _, e := range all {
		w := witness{method: e.open.Request.Method, url: e.url()}
		posted := string(e.request())
		w.posted = &posted
		if r := e.end.Response; r != nil {
			w.status = r.Status
			if r.Body != nil && r.header("Content-Encoding") == "" && int64(len(r.Body.Base64)) == r.Body.Size {
				body := string(r.Body.Base64)
				w.body = &body
			}
		}
		ws = append(ws, w)
	}
	return ws
}

// byHAR is what the HAR says: decoded bodies and all.
func byHAR(t *testing.T, all []harEntry) []witness {
	var ws []witness
	for _, e := range all {
		w := witness{method: e.Request.Method, url: e.Request.URL, status: max(e.Response.Status, 0)}
		posted := e.posted()
		w.posted = &posted
		if body := e.body(t); body != "" || e.Response.Content.Size == 0 {
			w.body = &body
		}
		ws = append(ws, w)
	}
	return ws
}

// inOrder checks that what caused another comes before it: in each chain,
// every request of a stage before each of the next. Stages name paths.
func inOrder(t *testing.T, who string, all []witness, host string, chains [][][]string) {
	t.Helper()
	place := func(path string) int {
		i := slices.IndexFunc(all, func(w witness) bool { return strings.HasSuffix(w.url, "://"+host+path) })
		if i < 0 {
			t.Errorf("%s has no %s", who, path)
		}
		return i
	}
	for _, stages := range chains {
		for i := range len(stages) - 1 {
			for _, cause := range stages[i] {
				for _, effect := range stages[i+1] {
					if c, e := place(cause), place(effect); c >= 0 && e >= 0 && c > e {
						t.Errorf("%s: %s is at %d, but %s, which caused it, at %d", who, effect, e, cause, c)
					}
				}
			}
		}
	}
}
