package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// An nginxServer serves the site's files itself, over TLS, compressed, and
// passes the rest to the Go origin.
type nginxServer struct {
	host string // name:port over TLS
	log  string
	stop func() // ends it once it has answered, so that its log is whole
}

const nginxConfig = `
daemon off;
master_process off;
pid %[1]s/nginx.pid;
error_log %[1]s/nginx-error.log;
events {}
http {
	include /etc/nginx/mime.types;
	log_format asked escape=json '{"method":"$request_method","uri":"$request_uri","status":$status}';
	access_log %[1]s/nginx-access.log asked;
	client_body_temp_path %[1]s/nginx-body;
	proxy_temp_path %[1]s/nginx-proxy;
	fastcgi_temp_path %[1]s/nginx-fastcgi;
	uwsgi_temp_path %[1]s/nginx-uwsgi;
	scgi_temp_path %[1]s/nginx-scgi;
	client_max_body_size 100m;
	gzip on;
	gzip_min_length 1;
	gzip_types text/css application/javascript application/json;
	map $http_upgrade $upgrading { "" ""; default "upgrade"; }
	server {
		listen %[2]s ssl http2;
		server_name localhost;
		ssl_certificate %[3]s;
		ssl_certificate_key %[4]s;
		root %[5]s;
		location / { try_files $uri $uri/index.html @go; }
		location /limited {
			client_max_body_size 1k;
			proxy_pass http://%[6]s;
		}
		location @go {
			proxy_pass http://%[6]s;
			proxy_http_version 1.1;
			proxy_buffering off;
			proxy_set_header Host $http_host;
			proxy_set_header X-Forwarded-Proto https;
			proxy_set_header Upgrade $http_upgrade;
			proxy_set_header Connection $upgrading;
		}
	}
}
`

// startNginx serves at 127.0.0.1, before the Go origin.
func startNginx(t *testing.T, dir string, a *authority, o *origin) *nginxServer {
	t.Helper()
	program := need(t, "nginx")
	root, err := filepath.Abs("testdata/site")
	if err != nil {
		t.Fatal(err)
	}
	n := &nginxServer{host: freePort(t), log: filepath.Join(dir, "nginx-access.log")}
	config := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(nginxConfig, dir, n.host, a.leaf.cert, a.leaf.key, root, o.plain)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-c", config, "-p", dir, "-e", filepath.Join(dir, "nginx-error.log"))
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Wait()
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
	})
	n.stop = func() {
		cmd.Process.Signal(syscall.SIGQUIT)
		<-ended
	}
	until(t, "nginx to listen", func() bool {
		select {
		case <-ended:
			t.Fatalf("nginx ended: %s", said.String())
		default:
		}
		c, err := net.Dial("tcp", n.host)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return n
}

// accesses is nginx's own record, once it has been stopped: what it was asked,
// in the order in which it had answered. Bodies are not in it.
func (n *nginxServer) accesses(t *testing.T) []access {
	t.Helper()
	text, err := os.ReadFile(n.log)
	if err != nil {
		t.Fatal(err)
	}
	var all []access
	for line := range strings.Lines(string(text)) {
		var l struct {
			Method, URI string
			Status      int
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("nginx's log: %q: %v", line, err)
		}
		all = append(all, access{Method: l.Method, URL: "https://" + n.host + l.URI, Status: l.Status})
	}
	return all
}
