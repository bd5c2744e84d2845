package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A namespace is a network of a test's own, with a loopback interface.
type namespace struct {
	t   *testing.T
	pid int // of the process that holds it
}

// newNamespace makes one. It is gone when the process is that holds it, which
// ends with the tests, even when they are killed.
func newNamespace(t *testing.T) *namespace {
	t.Helper()
	if os.Getuid() != 0 {
		lacking(t, "only root can make a network namespace")
	}
	need(t, "nsenter")
	holds := exec.Command(need(t, "unshare"), "--net", "sh", "-c", `"$1" link set lo up && echo up && exec cat`, "sh", need(t, "ip"))
	stdin, err := holds.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := holds.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	holds.Stderr = &said
	if err := holds.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		holds.Wait()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "up\n" {
		lacking(t, fmt.Sprintf("network namespaces can't be made here: %v: %s", err, said.String()))
	}
	return &namespace{t: t, pid: holds.Process.Pid}
}

func (n *namespace) path() string { return fmt.Sprintf("/proc/%d/ns/net", n.pid) }

// command runs a program in it.
func (n *namespace) command(program string, args ...string) *exec.Cmd {
	n.t.Helper()
	return exec.CommandContext(n.t.Context(), need(n.t, "nsenter"), append([]string{"--net=" + n.path(), "--", need(n.t, program)}, args...)...)
}

func (n *namespace) do(program string, args ...string) string {
	n.t.Helper()
	out, err := n.command(program, args...).CombinedOutput()
	if err != nil {
		n.t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
	return string(out)
}

// A lan is a site, which has nginx, and a browser's place, with a cable
// between the two.
type lan struct {
	t             *testing.T
	dir           string
	site, browser *namespace
	asked         int      // the number of the last request
	env           []string // of the capture
}

const siteAddress = "10.77.0.1"

const siteConfig = `
daemon off;
master_process off;
pid %[1]s/nginx.pid;
events {}
http {
	access_log off;
	sendfile on;
	keepalive_requests 1000000;
	server {
		listen 80;
		listen 443 ssl;
		ssl_certificate %[2]s;
		ssl_certificate_key %[3]s;
		root %[1]s/files;
		client_max_body_size 10m;
		location /take { return 204; }
	}
}
`

func newLAN(t *testing.T) *lan {
	t.Helper()
	n := &lan{t: t, dir: t.TempDir(), site: newNamespace(t), browser: newNamespace(t)}
	n.site.do("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", fmt.Sprint(n.browser.pid))
	for address, at := range map[string]*namespace{siteAddress: n.site, "10.77.0.2": n.browser} {
		at.do("ip", "link", "set", "eth0", "addrgenmode", "none") // no IPv6, whose own packets come at any time
		at.do("ip", "address", "add", address+"/24", "dev", "eth0")
		at.do("ip", "link", "set", "eth0", "up")
	}
	a := newAuthority(t, n.dir)
	files, config := filepath.Join(n.dir, "files"), filepath.Join(n.dir, "nginx.conf")
	if err := os.Mkdir(files, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		config:                         fmt.Appendf(nil, siteConfig, n.dir, a.leaf.cert, a.leaf.key),
		filepath.Join(files, "part"):   bytes.Repeat([]byte("64 KiB of a page"), 4<<10),
		filepath.Join(files, "flood"):  bytes.Repeat([]byte("16 MiB of flood."), 1<<20),
		filepath.Join(files, "little"): []byte("a little"),
	} {
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	nginx := n.site.command("nginx", "-c", config, "-p", n.dir, "-e", filepath.Join(n.dir, "error.log"))
	var said bytes.Buffer
	nginx.Stderr = &said
	if err := nginx.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		nginx.Wait()
	}()
	t.Cleanup(func() {
		nginx.Process.Kill()
		<-ended
	})
	until(t, "nginx to answer", func() bool {
		select {
		case <-ended:
			t.Fatalf("nginx ended: %s", said.String())
		default:
		}
		return n.browser.command("curl", "-sf", "-o", "/dev/null", "http://"+siteAddress+"/little").Run() == nil
	})
	return n
}

// ask makes so many numbered requests, one after the other: over the cable, or
// over the site's own loopback.
func (n *lan) ask(loopback bool, count int, file string, curl ...string) {
	n.t.Helper()
	from, host := n.browser, siteAddress
	if loopback {
		from, host = n.site, "127.0.0.1"
	}
	url := fmt.Sprintf("http://%s/%s?n=[%d-%d]", host, file, n.asked+1, n.asked+count)
	n.asked += count
	from.do("curl", append(curl, "-sSf", "-o", "/dev/null", url)...)
}

// number is that of a request.
func number(t *testing.T, uri string) (n int) {
	t.Helper()
	_, after, ok := strings.Cut(uri, "?n=")
	if _, err := fmt.Sscan(after, &n); !ok || err != nil {
		t.Fatalf("%q has no number", uri)
	}
	return n
}

// wrap has the capture run a script of bash in a program's place.
func (n *lan) wrap(program, script string) {
	n.t.Helper()
	bin := filepath.Join(n.dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, program), []byte("#!"+need(n.t, "bash")+"\n"+script+"\n"), 0o755); err != nil {
		n.t.Fatal(err)
	}
	n.env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
}
