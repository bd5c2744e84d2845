package traffic

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/agentenv/netlog/capture"
)

// An env is what a test collects from.
type env struct {
	url string

	mu    sync.Mutex
	list  []capture.Capture
	files map[string][]byte
	har   []byte                                                  // nil: there is none
	first map[string]func(w http.ResponseWriter, r *http.Request) // in the place of a file's next answer
	asked []string                                                // files, in order
}

func newEnv(t *testing.T) *env {
	t.Helper()
	e := &env{files: make(map[string][]byte), first: make(map[string]func(http.ResponseWriter, *http.Request))}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	e.url = server.URL
	return e
}

// put adds a capture behind the others, or changes one.
func (e *env) put(name string, b []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	container, _, _ := strings.Cut(name, ".pcap")
	e.list = slices.DeleteFunc(e.list, func(c capture.Capture) bool { return c.Name == name })
	e.list = append(e.list, capture.Capture{Name: name, Container: container, Bytes: int64(len(b)), ModifiedAt: began})
	e.files[name] = b
}

// fails has the next answers for a file be these, then the file.
func (e *env) fails(name string, answers ...http.HandlerFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.first[name] = func(w http.ResponseWriter, r *http.Request) {
		next := answers[0]
		if answers = answers[1:]; len(answers) == 0 {
			e.mu.Lock()
			delete(e.first, name)
			e.mu.Unlock()
		}
		next(w, r)
	}
}

func (e *env) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == CardPath {
		x := NewExtension()
		b, err := json.Marshal(map[string]any{"capabilities": map[string]any{"extensions": []any{x, map[string]any{
			"uri": BrowserURI, "params": map[string]any{"methods": map[string]any{"har": map[string]any{"method": "GET", "endpoint": "/network.har"}}},
		}}}})
		if err != nil {
			panic(err)
		}
		w.Write(b)
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+token {
		WriteError(w, 401, CodeUnauthorized, "no")
		return
	}
	name := r.URL.Query().Get("name")
	switch r.URL.Path {
	case "/network.har":
		name = harName
	case ListPath:
		name = "list"
	}
	e.mu.Lock()
	e.asked = append(e.asked, name)
	instead, b := e.first[name], e.files[name]
	var l listing
	if name == "list" {
		l = listing{"pcap", slices.Clone(e.list)}
	}
	if name == harName {
		b = e.har
	}
	e.mu.Unlock()
	switch {
	case instead != nil:
		instead(w, r)
	case name == "list":
		WriteJSON(w, 200, l)
	case b == nil:
		WriteError(w, 404, CodeNotFound, "there is no such capture")
	default:
		w.Write(b)
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { WriteError(w, code, CodeUnavailable, "ask again") }
}

// cut sends the beginning of something, then nothing more.
func cut(b []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(b)))
		w.Write(b[:len(b)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

func collect(t *testing.T, e *env, dir string) (*Manifest, error) {
	t.Helper()
	m, err := (&Collector{Client: newTestClient(t, e.url), Dir: dir}).Collect(t.Context())
	holds(t, m, dir)
	return m, err
}

// holds makes sure that a manifest is the folder's, and true of it.
func holds(t *testing.T, m *Manifest, dir string) {
	t.Helper()
	saved, err := ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := fmt.Sprintf("%+v", m), fmt.Sprintf("%+v", saved); m != nil && a != b {
		t.Errorf("the folder's manifest is\n%s\nnot\n%s", b, a)
	}
	there := map[string]bool{ManifestName: true}
	bytes := int64(0)
	for _, f := range saved.Files {
		there[f.Name] = true
		b, err := os.ReadFile(filepath.Join(dir, f.Name))
		sum := sha256.Sum256(b)
		if err != nil || int64(len(b)) != f.Size || hex.EncodeToString(sum[:]) != f.SHA256 {
			t.Errorf("%s is not as the manifest says: %d bytes of %d, %v", f.Name, len(b), f.Size, err)
		}
		bytes += f.Size
	}
	if bytes != saved.Bytes || len(saved.Error) > 500 || (saved.State == Collected) != (saved.Error == "") || (saved.State == Failed) != (saved.Error != "" && len(saved.Files) == 0) {
		t.Errorf("%d bytes; the manifest: %+v", bytes, saved)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !there[entry.Name()] && !strings.HasPrefix(entry.Name(), "mine") {
			t.Errorf("%s is left in the folder", entry.Name())
		}
	}
}

// names are the files of a manifest, each with what the server called it.
func names(m *Manifest) string {
	var all []string
	for _, f := range m.Files {
		of := f.Capture
		if f.Container == "" {
			of = f.FirstEntry
		}
		all = append(all, fmt.Sprintf("%s=%s/%d", f.Name, of, f.Size))
	}
	return strings.Join(all, " ")
}

const oneHAR = `{"log":{"pages":[{"startedDateTime":"2026-03-04T05:06:07.008Z"}]}}`

func TestCollectBringsEverything(t *testing.T) {
	e, dir := newEnv(t), filepath.Join(t.TempDir(), "a", "b[1]")
	e.put("site.pcap3", pcap(1, 3))
	e.put("site.pcap0", pcap(2, 2))
	e.put("db.pcap0", pcap(3, 1))
	e.har = []byte(oneHAR)
	m, err := collect(t, e, dir)
	if err != nil || m.State != Collected || m.Address != e.url || fmt.Sprint(m.Containers) != "[db site]" {
		t.Errorf("%+v, %v", m, err)
	}
	if got, want := names(m), "db-00.pcap=db.pcap0/140 site-00.pcap=site.pcap3/372 site-01.pcap=site.pcap0/256 network.har=2026-03-04T05:06:07.008Z/66"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if f := m.Files[1]; f.FirstPacket != "2026-03-04T05:06:08.000008Z" {
		t.Errorf("%+v", f)
	}
	for _, name := range []string{"", ManifestName, "site-00.pcap"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%q: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestCollectAgainFetchesWhatIsNew(t *testing.T) {
	e, dir := newEnv(t), t.TempDir()
	e.put("site.pcap0", pcap(1, 3))
	e.put("site.pcap1", pcap(2, 2))
	e.put("site.pcap2", header())
	if _, err := collect(t, e, dir); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(filepath.Join(dir, "site-00.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	// The ring has turned once: 1 has grown, 2 has its first packets, and 0 is
	// another.
	e.put("site.pcap1", pcap(2, 4))
	e.put("site.pcap2", pcap(3, 5))
	e.put("site.pcap0", pcap(4, 1))
	e.har = []byte(oneHAR)
	m, err := collect(t, e, dir)
	if got, want := names(m), "site-00.pcap=site.pcap0/372 site-01.pcap=site.pcap1/488 site-02.pcap=site.pcap2/604 site-03.pcap=site.pcap0/140 network.har=2026-03-04T05:06:07.008Z/66"; err != nil || got != want {
		t.Errorf("%s, want %s; %v", got, want, err)
	}
	after, err := os.Stat(filepath.Join(dir, "site-00.pcap"))
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("what had not changed was written anew: %v", err)
	}
	// A HAR of another log is another file, one that went on takes its place.
	e.har = []byte(oneHAR + "\n")
	if m, err = collect(t, e, dir); err != nil || !strings.HasSuffix(names(m), " network.har=2026-03-04T05:06:07.008Z/67") {
		t.Errorf("%s, %v", names(m), err)
	}
	e.har = bytes.ReplaceAll(e.har, []byte("07.008Z"), []byte("09.000Z"))
	for range 2 {
		if m, err = collect(t, e, dir); err != nil || !strings.HasSuffix(names(m), " network.har=2026-03-04T05:06:07.008Z/67 network-01.har=2026-03-04T05:06:09.000Z/67") {
			t.Errorf("%s, %v", names(m), err)
		}
	}
}

func TestCollectOverwritesNothingElse(t *testing.T) {
	e, dir := newEnv(t), t.TempDir()
	write(t, dir, "mine.txt", []byte("mine"))
	for _, name := range []string{"site-00.pcap", "site-02.pcap", "network.har"} {
		write(t, dir, "mine-"+name, []byte("mine"))
		if err := os.Symlink("mine-"+name, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	e.put("site.pcap0", pcap(1, 1))
	e.put("site.pcap1", pcap(2, 1))
	e.har = []byte(oneHAR)
	m, err := (&Collector{Client: newTestClient(t, e.url), Dir: dir}).Collect(t.Context())
	if got, want := names(m), "site-01.pcap=site.pcap0/140 site-03.pcap=site.pcap1/140 network-01.har=2026-03-04T05:06:07.008Z/66"; err != nil || got != want {
		t.Errorf("%s, want %s; %v", got, want, err)
	}
	for _, name := range []string{"mine.txt", "site-00.pcap", "site-02.pcap", "network.har"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != "mine" {
			t.Errorf("%s: %.20q, %v", name, b, err)
		}
	}
}

// What the user deleted is fetched again; what he changed is his.
func TestCollectAgainFetchesWhatIsGone(t *testing.T) {
	e, dir := newEnv(t), t.TempDir()
	for i := range 3 {
		e.put(fmt.Sprintf("site.pcap%d", i), pcap(i, i+1))
	}
	if _, err := collect(t, e, dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "site-01.pcap")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "site-02.pcap", []byte("mine"))
	m, err := (&Collector{Client: newTestClient(t, e.url), Dir: dir}).Collect(t.Context())
	if got, want := names(m), "site-00.pcap=site.pcap0/140 site-01.pcap=site.pcap1/256 site-03.pcap=site.pcap2/372"; err != nil || got != want {
		t.Errorf("%s, want %s; %v", got, want, err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "site-02.pcap")); err != nil || string(b) != "mine" {
		t.Errorf("%.20q, %v", b, err)
	}
}

func TestCollectTriesAgain(t *testing.T) {
	e, dir := newEnv(t), t.TempDir()
	e.put("site.pcap0", pcap(1, 1))
	e.put("site.pcap1", pcap(2, 1000))
	e.har = []byte(oneHAR)
	e.fails("site.pcap0", status(503), status(503), status(503))
	e.fails("site.pcap1", cut(e.files["site.pcap1"]), status(500), cut(e.files["site.pcap1"]))
	e.fails("list", status(502))
	e.fails(harName, cut(e.har))
	m, err := collect(t, e, dir)
	if err != nil || m.State != Collected || len(m.Files) != 3 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestOneBadFileLosesNoOther(t *testing.T) {
	e, dir := newEnv(t), t.TempDir()
	for i := range 4 {
		e.put(fmt.Sprintf("site.pcap%d", i), pcap(i, 10))
	}
	e.har = []byte(oneHAR)
	e.fails("site.pcap1", slices.Repeat([]http.HandlerFunc{cut(e.files["site.pcap1"])}, 5)...)
	e.fails("site.pcap2", slices.Repeat([]http.HandlerFunc{status(503)}, 5)...)
	m, err := collect(t, e, dir)
	const want = `"site.pcap1": the connection was cut (and 1 more)`
	if err == nil || m.State != Partial || m.Error != want || names(m) != "site-00.pcap=site.pcap0/1184 site-01.pcap=site.pcap3/1184 network.har=2026-03-04T05:06:07.008Z/66" {
		t.Errorf("%+v, %v", m, err)
	}
	// Once more, and it is all there.
	if m, err = collect(t, e, dir); err != nil || m.State != Collected || len(m.Files) != 5 {
		t.Errorf("%+v, %v", m, err)
	}
}

// A server that dies in the middle of many files is not asked for each of them.
func TestAServerThatIsGone(t *testing.T) {
	e, dir := newEnv(t), t.TempDir()
	for i := range 100 {
		e.put(fmt.Sprintf("site.pcap%d", i), pcap(i, 10))
		if i >= 10 {
			e.fails(fmt.Sprintf("site.pcap%d", i), slices.Repeat([]http.HandlerFunc{cut(pcap(i, 10))}, 5)...)
		}
	}
	m, err := collect(t, e, dir)
	if err == nil || m.State != Partial || len(m.Files) != 10 || len(e.asked) != 1+10+patience*5 {
		t.Errorf("%d files, %d were asked for, %v", len(m.Files), len(e.asked), err)
	}
}

// What was overwritten between the list and its turn is noted and no failure, and
// what only has another name by then is found.
func TestACaptureThatIsGone(t *testing.T) {
	e, dir := newEnv(t), t.TempDir()
	for i := range 3 {
		e.put(fmt.Sprintf("site.pcap%d", i), pcap(i, 10))
	}
	e.fails("site.pcap1", func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		b := e.files["site.pcap1"]
		delete(e.files, "site.pcap1")
		e.list = slices.DeleteFunc(e.list, func(c capture.Capture) bool { return c.Name == "site.pcap1" })
		e.mu.Unlock()
		e.put("site.pcap1001", b)
		WriteError(w, 404, CodeNotFound, "gone")
	})
	m, err := collect(t, e, dir)
	if err != nil || m.State != Collected || names(m) != "site-00.pcap=site.pcap0/1184 site-02.pcap=site.pcap1001/1184 site-01.pcap=site.pcap2/1184" {
		t.Errorf("%+v, %v", m, err)
	}
	if len(m.Notes) != 2 || m.Notes[0] != `"site.pcap1" was listed, and gone when it was asked for` {
		t.Errorf("%q", m.Notes)
	}
	delete(e.files, "site.pcap0") // listed, and not there
	if m, err = collect(t, e, dir); err != nil || m.State != Collected || len(m.Files) != 3 {
		t.Errorf("%+v, %v", m, err)
	}
}

// A run that fails takes nothing away from an earlier one.
func TestAFailingRunShrinksNothing(t *testing.T) {
	e, dir := newEnv(t), t.TempDir()
	m, err := (&Collector{Client: newTestClient(t, "http://127.0.0.1:1"), Dir: dir}).Collect(t.Context())
	holds(t, m, dir)
	if err == nil || m.State != Failed || !strings.Contains(m.Error, "connection refused") {
		t.Errorf("%+v, %v", m, err)
	}
	e.put("site.pcap0", pcap(1, 1))
	e.put("site.pcap1", pcap(2, 1))
	if _, err := collect(t, e, dir); err != nil {
		t.Fatal(err)
	}
	m, err = (&Collector{Client: newTestClient(t, "http://127.0.0.1:1"), Dir: dir}).Collect(t.Context())
	holds(t, m, dir)
	if err == nil || m.State != Partial || len(m.Files) != 2 {
		t.Errorf("%+v, %v", m, err)
	}
	c, err := NewClient(ClientConfig{Address: e.url, Token: "wrong"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m, err = (&Collector{Client: c, Dir: dir}).Collect(t.Context())
	holds(t, m, dir)
	if !Unauthorized(err) || m.State != Partial || len(m.Files) != 2 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestACollectionThatIsBrokenOff(t *testing.T) {
	e, dir := newEnv(t), t.TempDir()
	for i := range 3 {
		e.put(fmt.Sprintf("site.pcap%d", i), pcap(i, 1000))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	release := make(chan struct{})
	e.fails("site.pcap1", func(w http.ResponseWriter, _ *http.Request) {
		w.Write(e.files["site.pcap1"][:5000])
		w.(http.Flusher).Flush()
		holds(t, nil, filepath.Join(dir, ".")) // true in the middle, too
		cancel(errors.New("interrupted"))
		<-release
	})
	m, err := func() (*Manifest, error) {
		defer close(release)
		return (&Collector{Client: newTestClient(t, e.url), Dir: dir}).Collect(ctx)
	}()
	holds(t, m, dir)
	if err == nil || m.State != Partial || m.Error != "interrupted" || len(m.Files) != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err = collect(t, e, dir); err != nil || m.State != Collected || len(m.Files) != 3 {
		t.Errorf("%+v, %v", m, err)
	}
}

// What had failed before is told too, and what was being tried again.
func TestWhyACollectionThatIsBrokenOffHadNoMore(t *testing.T) {
	e, dir := newEnv(t), t.TempDir()
	for i := range 2 {
		e.put(fmt.Sprintf("site.pcap%d", i), pcap(i, 10))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	release := make(chan struct{})
	e.fails("site.pcap1", status(503), func(http.ResponseWriter, *http.Request) {
		cancel(errors.New("interrupted"))
		<-release
	})
	m, err := func() (*Manifest, error) {
		defer close(release)
		return (&Collector{Client: newTestClient(t, e.url), Dir: dir}).Collect(ctx)
	}()
	holds(t, m, dir)
	if err == nil || m.State != Partial || m.Error != `interrupted; "site.pcap1": the server answers 503 unavailable: ask again` {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestAFolderThatIsNotForThis(t *testing.T) {
	e := newEnv(t)
	e.put("site.pcap0", pcap(1, 1))
	fails := func(dir, want string) {
		t.Helper()
		m, err := (&Collector{Client: newTestClient(t, e.url), Dir: dir}).Collect(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || m.State != Failed {
			t.Errorf("%+v, %v", m, err)
		}
	}
	dir := t.TempDir()
	write(t, dir, "file", nil)
	fails(filepath.Join(dir, "file"), "make the folder")
	for _, other := range []string{"", "{", "[]", `{"files":[]}`, `{"state":7}`} {
		write(t, dir, ManifestName, []byte(other))
		fails(dir, "it is none")
		if b, err := os.ReadFile(filepath.Join(dir, ManifestName)); err != nil || string(b) != other {
			t.Errorf("%q became %q", other, b)
		}
	}
	dir = t.TempDir()
	lock, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	fails(dir, "another process")
	if os.Geteuid() != 0 {
		dir = t.TempDir()
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		fails(dir, "permission denied")
	}
}

func TestWhatAKilledCollectionLeftIsTidied(t *testing.T) {
	e, dir := newEnv(t), t.TempDir()
	e.put("site.pcap0", pcap(1, 1))
	write(t, dir, ".fetch-123.tmp", []byte("half a capture"))
	write(t, dir, ManifestName, []byte(`{"state":"partial","files":[{"name":"../../mine","size":1},{"name":"site-07.pcap","container":"site","size":5}]}`))
	m, err := collect(t, e, dir)
	if err != nil || names(m) != "site-08.pcap=site.pcap0/140" {
		t.Errorf("%+v, %v", m, err)
	}
}

// A listing may lie, too.
func TestAListingThatLies(t *testing.T) {
	e, dir := newEnv(t), t.TempDir()
	for _, name := range []string{"site.pcap0", "../x", "a/b.pcap", strings.Repeat("x", 250) + ".pcap", "second.pcap"} {
		e.files[name] = pcap(1, 1)
	}
	e.fails("list", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"format":7,"captures":[1,null,{},{"name":7},{"name":""},{"name":"../x","container":"../x"},{"name":"../x"},{"name":"a/b.pcap"},
			{"name":"`+strings.Repeat("x", 250)+`.pcap"},{"name":"site.pcap0","container":"site","bytes":-5,"modified_at":"yesterday"},
			{"name":"site.pcap0","container":"other"},{"name":"second.pcap","container":["x"],"bytes":"many","later":1},{"name":"third\u001b[31m.pcap","container":".."}]}`)
	})
	m, err := collect(t, e, dir)
	const want = `"../x": its container's name "../x" is none (and 3 more)`
	if err == nil || m.Error != want || names(m) != "second-00.pcap=second.pcap/140 site-00.pcap=site.pcap0/140" {
		t.Errorf("%+v, %v", m, err)
	}
	if len(e.asked) != 4 { // list, the two, the HAR
		t.Errorf("%q were asked for", e.asked)
	}
	for _, answer := range []string{`[]`, `"x"`, `<html>`, ``, `{}`, `{"captures":{"name":"site.pcap0"}}`} {
		e.fails("list", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, answer) })
		if m, err = collect(t, e, dir); err == nil || !strings.HasSuffix(m.Error, "the answer is no list of captures") || len(m.Files) != 2 {
			t.Errorf("%s: %+v, %v", answer, m, err)
		}
	}
}

func TestACardWithNothingToCollect(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "{}") })
	dir := t.TempDir()
	m, err := (&Collector{Client: newTestClient(t, server.URL), Dir: dir}).Collect(t.Context())
	holds(t, m, dir)
	if err == nil || m.State != Failed || !strings.Contains(m.Error, "advertises neither captures") {
		t.Errorf("%+v, %v", m, err)
	}
}

// Another browser's server has its HAR in the data plane alone.
func TestTheHAROfADataPlane(t *testing.T) {
	answer, body := "", ""
	var server *httptest.Server
	at := "/agentenv"
	server = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == CardPath {
			fmt.Fprintf(w, `{"url":%q,"capabilities":{"operations":["data/get"],"extensions":[{"uri":%q,"params":{"methods":{"network":{"endpoint":"/x"}}}}]}}`, at, BrowserURI)
			return
		}
		b, _ := io.ReadAll(r.Body)
		body = r.Method + " " + r.URL.Path + " " + string(b)
		io.WriteString(w, answer)
	})
	part := func(name, har string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"parts":[{"kind":"data","data":{}},{"kind":"file","file":{"name":%q,"bytes":%q}}]}}`, name, base64.StdEncoding.EncodeToString([]byte(har)))
	}
	for _, c := range []struct {
		at, answer string
		state      State
		error      string
	}{
		{"/agentenv", part("network.har", oneHAR), Collected, ""},
		{server.URL + "/agentenv", part("network.har", oneHAR), Collected, ""},
		{"/agentenv", part("other.json", oneHAR), Collected, ""},
		{"/agentenv", `{"jsonrpc":"2.0","id":1,"result":{"parts":[]}}`, Collected, ""},
		{"/agentenv", `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no ` + token + `"}}`, Failed, "network.har: the data plane answers: no <token>"},
		{"/agentenv", `{}`, Failed, "network.har: the data plane's answer is none of JSON-RPC's"},
		{"/agentenv", `[]`, Failed, "network.har: the data plane's answer is none of JSON-RPC's"},
		{"/agentenv", strings.Replace(part("network.har", ""), `"bytes":""`, `"bytes":"?"`, 1), Failed, "network.har: the data plane's network.har is not base64"},
		{"http://evil.test/agentenv", "", Failed, `network.har: the card's data plane "http://evil.test/agentenv" is not at the address`},
		{server.URL + "0/agentenv", "", Failed, `network.har: the card's data plane "` + server.URL + `0/agentenv" is not at the address`},
		{"", "", Failed, "network.har: the card has no endpoint for it"},
	} {
		at, answer = c.at, c.answer
		dir := t.TempDir()
		m, err := (&Collector{Client: newTestClient(t, server.URL), Dir: dir}).Collect(t.Context())
		holds(t, m, dir)
		if m.State != c.state || m.Error != c.error || (err == nil) != (c.error == "") {
			t.Errorf("%s of %q: %+v, %v", c.answer, c.at, m, err)
		}
	}
	if want := `POST /agentenv {"id":1,"jsonrpc":"2.0","method":"data/get","params":{}}`; body != want {
		t.Errorf("%s, want %s", body, want)
	}
}

func TestTenThousandCapturesAreCollected(t *testing.T) {
	t.Parallel()
	e, dir := newEnv(t), t.TempDir()
	if memory, err := os.MkdirTemp("/dev/shm", "collect"); err == nil { // a disk takes long to sync as many
		defer os.RemoveAll(memory)
		dir = memory
	} else if testing.Short() {
		t.Skip("it takes long")
	}
	const n = 10_000
	for i := range n {
		name := fmt.Sprintf("site.pcap%d", i)
		e.list = append(e.list, capture.Capture{Name: name, Container: "site", Bytes: 140, ModifiedAt: began})
		e.files[name] = pcap(i, 1)
	}
	m, err := collect(t, e, dir)
	if err != nil || len(m.Files) != n || m.Files[n-1].Name != "site-9999.pcap" {
		t.Errorf("%d files, %v", len(m.Files), err)
	}
}
