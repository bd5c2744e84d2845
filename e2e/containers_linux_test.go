package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An engine is Docker's, with everything of its own, on a computer without a network:
// its images are made of one base, into which all is installed beforehand.
type engine struct {
	t   *testing.T
	env []string
}

// newBase makes the base, a tar file of Debian with what the images install and with
// nginx. It needs the network.
func newBase(t *testing.T, to string) {
	t.Helper()
	d := mountDisk(t, "-t", "tmpfs", "tmpfs")
	release, err := exec.Command("sh", "-c", `. /etc/os-release; [ "$ID" = debian ] && echo "$VERSION_CODENAME"`).Output()
	if err != nil {
		release = []byte("stable")
	}
	c := exec.CommandContext(t.Context(), "mmdebstrap", "--quiet", "--variant=minbase", "--dpkgopt=force-unsafe-io",
		"--include=ca-certificates,curl,libcap2-bin,nginx-light,tcpdump", strings.TrimSpace(string(release)), to)
	c.Env = append(os.Environ(), "TMPDIR="+d.path)
	if out, err := c.CombinedOutput(); err != nil {
		lacking(t, fmt.Sprintf("no base of the images can be made here: %v\n%s", err, out))
	}
}

func startEngine(t *testing.T, base string) *engine {
	t.Helper()
	d := mountDisk(t, "-t", "tmpfs", "tmpfs")
	socket := "unix://" + filepath.Join(d.path, "socket")
	e := &engine{t: t, env: append(clean(os.Environ()), "DOCKER_HOST="+socket, "DOCKER_BUILDKIT=0", "COMPOSE_PROJECT_NAME=netlog", "AGENTENV_CONTROL_TOKEN="+controlToken)}
	group := filepath.Base(filepath.Dir(binary(t))) // of these tests alone; a process's number is another computer's too
	daemon := exec.Command(need(t, "dockerd"), "--host", socket, "--cgroup-parent", "/"+group, "--data-root", filepath.Join(d.path, "data"), "--exec-root", filepath.Join(d.path, "exec"), "--pidfile", filepath.Join(d.path, "pid"))
	said := &said{}
	daemon.Stdout, daemon.Stderr = said, said
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		daemon.Wait()
	}()
	t.Cleanup(func() {
		daemon.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			daemon.Process.Kill()
			<-ended
		}
		for _, at := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
			left, _ := filepath.Glob(at + group)
			for _, dir := range left {
				os.Remove(dir)
			}
		}
	})
	until(t, "Docker's engine", func() bool {
		select {
		case <-ended:
			lacking(t, "Docker's engine does not run here:\n"+said.String())
		default:
		}
		return e.command("docker", "version").Run() == nil
	})
	e.do("docker", "import", base, "netlog-base")
	e.do("docker", "import", "--change", `CMD ["nginx", "-g", "daemon off;"]`, base, "nginx:stable")
	return e
}

// command is run in the folder of compose.yaml.
func (e *engine) command(program string, args ...string) *exec.Cmd {
	c := exec.CommandContext(e.t.Context(), program, args...)
	c.Dir, c.Env = "..", e.env
	return c
}

func (e *engine) do(program string, args ...string) string {
	e.t.Helper()
	c := e.command(program, args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		e.t.Fatalf("%s %q: %v\n%s%s", program, args, err, out.String(), errs.String())
	}
	return out.String()
}

// asWritten runs the line of docs/containers.md that begins so, with more options for
// what it runs.
func (e *engine) asWritten(begins string, more ...string) {
	e.t.Helper()
	for _, line := range readme(e.t, "sh") {
		if strings.HasPrefix(line, begins) {
			words := strings.Fields(strings.Replace(line, "docker compose", "docker-compose", 1)) // which is how Debian has it
			e.do(words[0], slices.Concat(words[1:2], more, words[2:])...)
			return
		}
	}
	e.t.Fatalf("no page has a line that begins with %s", begins)
}

// container is the one of a service of compose.yaml.
func (e *engine) container(service string) string {
	e.t.Helper()
	return strings.TrimSpace(e.do("docker-compose", "ps", "--quiet", service))
}

// A process is one of a container's, as its network's host sees it.
type process struct {
	command, user         string
	effective, capability string // capabilities, and those that it could get
}

func (e *engine) processes(container string) (all []process) {
	e.t.Helper()
	lines := strings.Split(strings.TrimSpace(e.do("docker", "top", container, "-eo", "pid,args")), "\n")
	for _, line := range lines[1:] {
		pid, command, _ := strings.Cut(strings.TrimSpace(line), " ")
		command = strings.TrimSpace(command)
		status, err := os.ReadFile("/proc/" + pid + "/status")
		if err != nil {
			continue // it has ended
		}
		if strings.HasPrefix(command, "runc") {
			continue // the engine's, which becomes a health check
		}
		of := func(name string) string {
			m := regexp.MustCompile(`(?m)^` + name + `:\s+(\S+)`).FindSubmatch(status)
			if m == nil {
				e.t.Fatalf("no %s in %s", name, status)
			}
			return strings.TrimLeft(string(m[1]), "0")
		}
		all = append(all, process{command, of("Uid"), of("CapEff"), of("CapBnd")})
	}
	return all
}

// The image and compose.yaml as they are, in Docker's own engine: a site, whose network
// is captured from beside it, with the capability for that and no other; a gateway that
// reads what the capture writes; a browser's computer.
func TestContainers(t *testing.T) {
	heavy(t)
	t.Parallel()
	for _, program := range []string{"dockerd", "docker", "docker-compose", "mmdebstrap", "make"} {
		need(t, program)
	}
	base := filepath.Join(filepath.Dir(binary(t)), "base.tar")
	if os.Getenv(insideVariable) == "" {
		if os.Getuid() != 0 {
			lacking(t, "only root can make a computer of its own")
		}
		if out, err := exec.CommandContext(t.Context(), "make", "-C", "..", "build").CombinedOutput(); err != nil {
			t.Fatalf("make build: %v\n%s", err, out)
		}
		newBase(t, base)
	}
	if !onAComputer(t) {
		return
	}
	e := startEngine(t, base)
	e.do("make", "image", "IMAGEFLAGS=--network none --build-arg BASE=netlog-base")
	e.do("docker", "build", "--network", "none", "--build-arg", "PACKAGES=curl", "--tag", "agentenv-netlog-browser", "docker/browser")
	if all := e.do("docker", "run", "--rm", "--no-healthcheck", "agentenv-netlog", "demo"); !strings.Contains(all, "https://www.demo.test/chat") {
		t.Errorf("the demo in a container says\n%s", all)
	}
	e.asWritten("docker compose up --detach gateway")

	// Who browses has the website under its name, and nothing else.
	browsed := e.do("docker-compose", "run", "--rm", "-T", "browser", "sh", "-c", `
		curl -sS https://notes.test/?by=browser
		id -un
		grep CapBnd /proc/self/status
		for forbidden in "cat /etc/agentenv/sites/notes.key" "echo x >> /log/network.jsonl" "rm /log/network.jsonl" "kill 1"; do
			sh -c "$forbidden" 2> /dev/null && echo "CAN $forbidden"
		done
		grep -c . /log/network.jsonl
		for p in /proc/[0-9]*; do
			[ "$(awk '/^Uid/ { print $2 }' $p/status)" != 0 ] || echo "root: $(tr '\0' '\n' < $p/cmdline | sed 4q | tr '\n' ' ')"
		done`)
	for _, want := range []string{"Welcome to nginx", "\nagent\n", "CapBnd:\t0000000000000000\n"} {
		if !strings.Contains(browsed, want) {
			t.Errorf("the browser's computer says\n%s\nwant %q in it", browsed, want)
		}
	}
	roots := regexp.MustCompile(`(?m)^root: .*\S`).FindAllString(browsed, -1)
	if want := []string{"root: /sbin/docker-init -- browse sh", "root: agentenv-netlog sites run --supervise"}; !slices.Equal(roots, want) || strings.Contains(browsed, "CAN ") {
		t.Errorf("who browses can do too much, or root does:\n%s", browsed)
	}
	// One more from outside, and one over the site's own loopback.
	e.do("docker", "exec", e.container("site"), "curl", "-sS", "-o", "/dev/null", "http://127.0.0.1/?by=loopback")

	const url = "http://127.0.0.1:8080"
	answer, err := http.Get(url + "/website/notes/?by=outside")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if answer.StatusCode != 200 {
		t.Errorf("the website is %s", answer.Status)
	}

	// Nothing runs as root, or with a capability, that need not.
	const netRaw = "2000"
	ran := map[string]bool{}
	for service, could := range map[string]string{"capture": netRaw, "gateway": ""} {
		for _, p := range e.processes(e.container(service)) {
			name, _, _ := strings.Cut(p.command, " ")
			name = filepath.Base(name)
			has := ""
			if name == "tcpdump" {
				has = netRaw
			}
			if p.user != "999" || p.effective != has || p.capability != could {
				t.Errorf("%s: %s runs as %s with the capabilities %q of %q", service, p.command, p.user, p.effective, p.capability)
			}
			ran[service+" "+name] = true
		}
	}
	for _, want := range []string{"capture agentenv-netlog", "capture tcpdump", "gateway agentenv-netlog"} {
		if !ran[want] {
			t.Errorf("there run %v, and no %s", ran, want)
		}
	}
	for _, path := range []string{"/captures/x", "/log/x", "/x"} {
		if out, err := e.command("docker", "exec", "--user", "0", e.container("gateway"), "touch", path).CombinedOutput(); err == nil || !bytes.Contains(out, []byte("Read-only file system")) {
			t.Errorf("the gateway can write to %s: %v %s", path, err, out)
		}
	}

	site, gateway := e.address("site"), e.address("gateway")

	// Once the capture is stopped, no gateway starts; the one that is there goes on.
	e.do("docker-compose", "stop", "capture")
	second := e.command("docker-compose", "run", "--rm", "-T", "--no-deps", "-e", "AGENTENV_NETLOG_CAPTURE_WAIT=3s", "gateway")
	refused := &said{}
	second.Stdout, second.Stderr = refused, refused
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}

	// What is fetched from outside, by who has the token.
	out := filepath.Join(t.TempDir(), "out")
	if _, stderr, code := run(t, t.TempDir(), "fetch", url, "--out", out); code != 1 || !strings.Contains(stderr, "401") {
		t.Errorf("fetch without the token ended with %d: %s", code, stderr)
	}
	if _, stderr, code := run(t, t.TempDir(), "fetch", url, "--out", out, "--token", controlToken); code != 0 {
		t.Fatalf("fetch ended with %d: %s", code, stderr)
	}
	if m := trueManifest(t, out); m.State != "collected" || len(m.Files) != 2 {
		t.Errorf("%+v", m)
	}
	wantTheSitesOwn(t, filepath.Join(out, "site-00.pcap"), site, gateway)
	har, stderr, code := run(t, t.TempDir(), "show", filepath.Join(out, "network.har"))
	if code != 0 || !strings.Contains(har, "https://notes.test/?by=browser") || strings.Contains(har, "by=outside") {
		t.Errorf("the HAR has\n%s%s", har, stderr)
	}

	if err := second.Wait(); err == nil || !strings.Contains(refused.String(), `"site" in "/captures": no capture is running: it is stopped`) {
		t.Errorf("a gateway without its capture: %v\n%s", err, refused)
	}
	e.asWritten("docker compose down --volumes")

	e.asWritten("docker run --rm --no-healthcheck --publish 127.0.0.1:8080:8080", "--detach", "--name", "proxy")
	until(t, "the proxy's page", func() bool {
		answer, err := http.Get(url)
		if err == nil {
			answer.Body.Close()
			http.DefaultClient.CloseIdleConnections()
		}
		return err == nil && answer.StatusCode == 200
	})
	e.do("docker", "exec", "proxy", "cat", "/data/network.jsonl", "/data/.config/agentenv-netlog/ca.pem")
	e.do("docker", "stop", "proxy")
}

// address is a service's among the websites.
func (e *engine) address(service string) string {
	e.t.Helper()
	return strings.TrimSpace(e.do("docker", "inspect", "--format", "{{.NetworkSettings.Networks.netlog_websites.IPAddress}}", e.container(service)))
}

// wantTheSitesOwn wants a capture to hold what the site said and heard, on every
// interface, and nothing of another network.
func wantTheSitesOwn(t *testing.T, file, site, gateway string) {
	t.Helper()
	var requests []string
	for _, f := range flowsOf(t, file) {
		requests = append(requests, f.requests...)
		outside := f.server.String() == site+":80" && f.client.Addr().String() == gateway
		inside := f.server.String() == "127.0.0.1:80" && f.client.Addr().IsLoopback()
		if !outside && !inside {
			t.Errorf("the capture has a flow from %s to %s", f.client, f.server)
		}
	}
	all := strings.Join(requests, "\n")
	for _, by := range []string{"browser", "loopback", "outside"} {
		if n := strings.Count(all, "GET /?by="+by+" HTTP/1.1"); n != 1 {
			t.Errorf("the capture has the request by %s %d times:\n%s", by, n, all)
		}
	}
}
