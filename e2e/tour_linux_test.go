package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	tourSite    = "10.99.0.1"
	tourGateway = "10.88.0.1"
	tourURL     = "http://" + tourGateway + ":8080"
)

// A tour is the whole product on one machine: a computer with Chromium, a gateway, and
// a website with a capture beside it, each in a network of its own.
//
//	computer 10.88.0.2 ── 10.88.0.1 gateway 10.99.0.2 ── 10.99.0.1 site
type tour struct {
	t             *testing.T
	dir           string   // of what is left
	to            string   // where that goes in the end
	out           *os.File // for people; nil when none watch
	gateway, site *namespace
}

// Chromium works at a website by its name; what it did is in the log, in the HAR that
// is graded by it, and in the capture of the site's network.
func TestTheTour(t *testing.T) {
	if os.Getuid() != 0 {
		lacking(t, "only root can make a computer of its own")
	}
	files := filepath.Join(filepath.Dir(binary(t)), "tour") // outside of what a computer has of its own
	to := os.Getenv(tourVariable)
	if os.Getenv(insideVariable) == "" {
		if err := os.Mkdir(files, 0o755); err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(files)
	}
	if !onAComputer(t) {
		if to != "" && !t.Failed() {
			if out, err := exec.Command("sh", "-c", `mkdir -p "$2" && cp -R "$1/." "$2"`, "sh", files, to).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
		return
	}
	v := &tour{t: t, dir: files, to: to}
	if to != "" {
		v.out = os.NewFile(3, "the terminal")
	}
	v.wire()
	v.say("Three machines, each in a network namespace of its own:\n  computer 10.88.0.2 ── %s gateway 10.99.0.2 ── %s site", tourGateway, tourSite)
	capture := v.startSite()
	v.startGateway()
	v.installSites()
	v.browse()
	v.say("Everything that Chromium did is in the log, with the answers as it got them:")
	v.do("show", sitesLog)
	capture.stop()
	v.log()
	v.grade()
	v.collect()
	v.say("The computer becomes what it was, but for the log:")
	v.do("sites", "uninstall")
	write(t, filepath.Join(files, "network.jsonl"), contentOf(t, sitesLog))
	v.say("What is left, in %s:", to)
	v.tell(v.list())
}

func (v *tour) say(format string, args ...any) { v.tell(fmt.Sprintf("\n"+format+"\n", args...)) }

func (v *tour) tell(text string) {
	if v.out != nil {
		fmt.Fprint(v.out, text)
	}
}

// typed tells of a command, as one would type it in a place.
func (v *tour) typed(place string, args []string, more string) {
	v.tell(fmt.Sprintf("%s$ agentenv-netlog %s%s\n", place, strings.Join(args, " "), more))
}

// do runs a command on the computer, and wants it to succeed.
func (v *tour) do(args ...string) {
	v.t.Helper()
	v.typed("computer", args, "")
	v.tell(v.run(args...))
}

// run is what one says.
func (v *tour) run(args ...string) string {
	v.t.Helper()
	stdout, stderr, code := run(v.t, v.dir, args...)
	if code != 0 {
		v.t.Fatalf("%q ended with %d: %s", args, code, stderr)
	}
	return stdout + stderr
}

// start runs one in a network until the tour is over.
func (v *tour) start(n *namespace, place, ready string, env []string, args ...string) *daemon {
	v.t.Helper()
	v.typed(place, args, "")
	cmd := n.command(binary(v.t), args...)
	cmd.Dir = v.dir
	cmd.Env = append(clean(os.Environ()), env...)
	d := startAsDaemon(v.t, ready, cmd)
	v.tell(d.said.String())
	return d
}

// wire makes the networks and joins them by cables.
func (v *tour) wire() {
	v.gateway, v.site = newNamespace(v.t), newNamespace(v.t)
	for _, args := range [][]string{
		{"link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", fmt.Sprint(v.gateway.pid)},
		{"address", "add", "10.88.0.2/24", "dev", "eth0"},
		{"link", "set", "eth0", "up"},
	} {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			v.t.Fatalf("ip %q: %v: %s", args, err, out)
		}
	}
	v.gateway.do("ip", "link", "add", "eth1", "type", "veth", "peer", "name", "eth0", "netns", fmt.Sprint(v.site.pid))
	for _, at := range []struct {
		n               *namespace
		device, address string
	}{{v.gateway, "eth0", tourGateway}, {v.gateway, "eth1", "10.99.0.2"}, {v.site, "eth0", tourSite}} {
		at.n.do("ip", "address", "add", at.address+"/24", "dev", at.device)
		at.n.do("sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6") // whose chatter is of no interest
		at.n.do("ip", "link", "set", at.device, "up")
	}
	write(v.t, "/etc/hosts", []byte("127.0.0.1 localhost\n::1 localhost\n"))
	write(v.t, "/etc/resolv.conf", nil)
	addUser(v.t, "agent", agentID)
}

// startSite has nginx serve a website, and captures beside it.
func (v *tour) startSite() *daemon {
	v.say("The site is nginx. Beside it, in its network, is a capture:")
	files, dir := inTestdata(v.t, "tour", "files"), v.t.TempDir()
	config := filepath.Join(dir, "nginx.conf")
	write(v.t, config, fmt.Appendf(nil, string(contentOf(v.t, inTestdata(v.t, "tour", "nginx.conf"))), dir, files))
	nginx := v.site.command("nginx", "-c", config, "-p", dir, "-e", filepath.Join(dir, "error.log"))
	if err := nginx.Start(); err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() {
		nginx.Process.Kill()
		nginx.Wait()
	})
	if err := os.Mkdir(filepath.Join(v.dir, "captures"), 0o755); err != nil {
		v.t.Fatal(err)
	}
	until(v.t, "nginx to answer", func() bool {
		return v.site.command("curl", "-sf", "-o", "/dev/null", "http://127.0.0.1/").Run() == nil
	})
	return v.start(v.site, "site", "capturing site on any", nil, "capture", "--name", "site", "--captures", "captures")
}

func (v *tour) startGateway() {
	v.say("The gateway serves the website to browsers; log and captures to whoever has the control token.\nWithout the capture it would not start:")
	v.start(v.gateway, "gateway", "/website/notes/", []string{"AGENTENV_CONTROL_TOKEN=" + controlToken},
		"serve", "--listen", tourGateway+":8080", "--website", "notes=http://"+tourSite+"/",
		"--captures", "captures", "--require-capture", "site", "--log", sitesLog)
}

func (v *tour) installSites() {
	v.say("The computer's browsers find the website as https://notes.test/, with TLS that they trust:")
	const config = "sites.json"
	write(v.t, filepath.Join(v.dir, config), fmt.Appendf(nil, `{"user": "agent", "sites": [{"name": "notes", "upstream": "%s/website/notes/", "domains": ["notes.test"]}]}`+"\n", tourURL))
	args := []string{"sites", "install", config}
	v.typed("computer", args, " | jq -c .checks")
	var report struct{ Checks json.RawMessage }
	var checks bytes.Buffer
	err := json.Unmarshal([]byte(v.run(args...)), &report)
	if err == nil {
		err = json.Compact(&checks, report.Checks)
	}
	if err != nil {
		v.t.Fatal(err)
	}
	v.tell(checks.String() + "\n")
}

// browse signs in and saves a note, as an agent would.
func (v *tour) browse() {
	v.say("Chromium opens https://notes.test/, signs in, and saves a note …")
	b := startChromium(v.t, nil, nil)
	b.open("https://notes.test/", "Notes")
	b.submit("Ann's notes: 2")
	b.lead("save a note", `document.getElementById('save').click()`)
	b.untilTitle("Žluté boty")
	b.close()
	v.tell("… and is at the page “Žluté boty”.\n")
}

// log wants what Chromium did in the log.
func (v *tour) log() {
	r := readLog(v.t, sitesLog)
	var got []string
	for _, e := range r.exchanges {
		if !strings.Contains(e.open.Request.header("User-Agent"), "agentenv") {
			got = append(got, e.open.Request.Method+" "+e.url()+" "+came(e))
		} else if came(e) != "200" {
			v.t.Errorf("the installation's own look at %s: %s", e.url(), came(e))
		}
		if e.open.Via != "site" {
			v.t.Errorf("%s went by %s", e.url(), e.open.Via)
		}
	}
	if want := v.did("https://notes.test"); !slices.Equal(got, want) {
		v.t.Errorf("the log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, e := range r.tunnels {
		if !gaveUp(e) {
			v.t.Errorf("the log has a tunnel to %s: %s", e.open.Target, came(e))
		}
	}
	if strings.Contains(string(contentOf(v.t, sitesLog)), controlToken) {
		v.t.Error("the log has the control token")
	}
}

// did is what Chromium did at the site, where it is called so.
func (v *tour) did(site string) (all []string) {
	for _, what := range []string{
		"GET %s/ 200", "POST %s/login 303", "GET %s/notes 200", "GET %s/api/notes.json 200", "POST %s/api/notes 201", "GET %s/notes/7?saved=1 200",
	} {
		all = append(all, fmt.Sprintf(what, site))
	}
	return all
}

// grade has the HAR graded by tasks and by wrong ones: by WebArena-Verified's rules as
// the tests restate them, and by itself.
func (v *tour) grade() {
	har := filepath.Join(v.dir, "network.har")
	v.say("The log becomes a HAR, here for WebArena-Verified, which grades by it:")
	v.do("har", sitesLog, "--for", "webarena", "-o", "network.har")
	var got []string
	for _, e := range theseHosts(readHAR(v.t, har), []string{"notes.test"}) {
		got = append(got, fmt.Sprintf("%s %s %d", e.Request.Method, e.Request.URL, e.Response.Status))
	}
	if want := v.did("https://notes.test"); !slices.Equal(got[max(len(got)-len(want), 0):], want) {
		v.t.Errorf("the HAR has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if f := faults(v.t, har, "--for", "webarena"); len(f) > 0 {
		v.t.Errorf("check finds %+v", f)
	}
	tasks, site := inTestdata(v.t, "tour", "tasks.json"), "https://notes.test"
	verdicts, by := gradedByRules(v.t, har, tasks, site), "its rules, as the tests restate them"
	_, err := os.Stat(".venv-webarena/.installed")
	if err == nil || v.out == nil {
		python := inVenv(v.t, ".venv-webarena", "python")
		by = "WebArena-Verified, and by its rules as the tests restate them"
		for _, r := range readings(v.t, python, inTestdata(v.t, "readers", "with_webarena.py"), har, tasks, site, v.t.TempDir()) {
			key := fmt.Sprint(r["task"], " ", r["wrong"])
			if succeeds, ok := verdicts[key]; !ok || succeeds != (r["status"] == "success") {
				v.t.Errorf("WebArena-Verified says %v of %q, %v", r["status"], key, r["errors"])
			}
		}
	}
	v.tell("graded by " + by + ":\n")
	right := 0
	for _, key := range slices.Sorted(maps.Keys(verdicts)) {
		task, isRight := strings.CutSuffix(key, " 0")
		if verdicts[key] != isRight {
			v.t.Errorf("%s: success is %v", key, verdicts[key])
		}
		if isRight {
			right++
			v.tell(fmt.Sprintf("  %-20s %v\n", task, map[bool]string{true: "success", false: "failure"}[verdicts[key]]))
		}
	}
	v.tell(fmt.Sprintf("  and %d wrong expectations of them: failures all\n", len(verdicts)-right))
	if right != 5 || len(verdicts) < 14 {
		v.t.Errorf("graded by %d tasks of %d", right, len(verdicts))
	}
}

// collect fetches as an env's client does before the env is taken down.
func (v *tour) collect() {
	out := filepath.Join(v.dir, "fetched")
	v.say("Before all is taken down, captures and HAR are fetched. Not without the token:")
	args := []string{"fetch", tourURL, "--out", "fetched"}
	v.typed("computer", args, "")
	_, stderr, code := run(v.t, v.dir, args...)
	v.tell(stderr)
	if code != 1 || !strings.Contains(stderr, "401") {
		v.t.Errorf("fetch without the token ended with %d: %s", code, stderr)
	}
	if err := os.RemoveAll(out); err != nil {
		v.t.Fatal(err)
	}
	v.guards()
	v.tell("\nWith it, in AGENTENV_CONTROL_TOKEN:\n")
	v.typed("computer", args, "")
	_, stderr, code = run(v.t, v.dir, append(args, "--token", controlToken)...)
	v.tell(stderr)
	if code != 0 {
		v.t.Fatalf("fetch ended with %d: %s", code, stderr)
	}
	if m := trueManifest(v.t, out); m.State != "collected" || len(m.Files) != 2 {
		v.t.Errorf("%+v", m)
	}
	v.say("The capture has what went over the site's network, and nothing else:")
	v.do("show", "fetched/site-00.pcap")
	v.packets(filepath.Join(out, "site-00.pcap"))
}

// guards wants list and get to be for who has the token, and the site for everybody.
func (v *tour) guards() {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for path, want := range map[string][2]int{
		"/traffic/captures":                {401, 200},
		"/traffic/capture?name=site.pcap0": {401, 200},
		"/network.har":                     {401, 200},
		"/svc/notes/":                      {401, 200},
		"/.well-known/agent-env.json":      {200, 200},
		"/website/notes/":                  {200, 200},
	} {
		for i, token := range []string{"", controlToken} {
			r, err := http.NewRequestWithContext(v.t.Context(), "GET", tourURL+path, nil)
			if err != nil {
				v.t.Fatal(err)
			}
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			answer, err := client.Do(r)
			if err != nil {
				v.t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != want[i] {
				v.t.Errorf("%s with the token %q is %s", path, token, answer.Status)
			}
		}
	}
}

// packets wants a capture to hold what Chromium made the gateway ask the site for, and
// no packet of another network.
func (v *tour) packets(file string) {
	var got []string
	for _, f := range flowsOf(v.t, file) {
		if f.server.String() != tourSite+":80" || f.client.Addr().String() != "10.99.0.2" {
			v.t.Errorf("the capture has a flow from %s to %s", f.client, f.server)
		}
		got = append(got, f.requests...)
	}
	for _, what := range v.did("") {
		request := what[:strings.LastIndex(what, " ")] + " HTTP/1.1"
		if !slices.Contains(got, request) {
			v.t.Errorf("the capture lacks %q: it has\n%s", request, strings.Join(got, "\n"))
		}
	}
}

// list names the files that are left.
func (v *tour) list() string {
	var all strings.Builder
	err := filepath.Walk(v.dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			fmt.Fprintf(&all, "  %9d  %s\n", info.Size(), strings.TrimPrefix(path, v.dir+"/"))
		}
		return err
	})
	if err != nil {
		v.t.Fatal(err)
	}
	return all.String()
}
