package main

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/agentenv/netlog/bench/internal/party"
)

// An outsider is a party that is not of this module. It is measured where it is
// installed.
type outsider struct {
	name  string
	where string // how to install it
	paths []string
	asked string // what it tells its version for, in its first line
	ready string // what it says before the address it listens on
	args  func(b *bench, dir string) ([]string, error)

	direct bool // it takes the place of the origin, and no CONNECT
	dies   bool // as of process
}

func outsiders() []outsider {
	return []outsider{
		{
			name: "mitmdump", where: "mitmproxy, by e2e/setup for one",
			paths: []string{"e2e/.venv-mitmproxy/bin/mitmdump", "mitmdump"}, asked: "--version",
			ready: "proxy listening at ", args: mitmdump,
		}, {
			name: "squid", where: "one with OpenSSL, Debian's squid-openssl",
			paths: []string{"squid", "/usr/sbin/squid"}, asked: "-v",
			ready: " local=", args: squid,
		}, {
			name: "nghttpx", where: "Debian's nghttp2-proxy",
			paths: []string{"nghttpx", "/usr/sbin/nghttpx"}, asked: "--version",
			ready: "Listening on ", args: nghttpx, direct: true, dies: true,
		},
	}
}

// outside finds an outsider by its name; program is "" when it is not installed.
func outside(name string) (o outsider, program string) {
	for _, o = range outsiders() {
		if o.name != name {
			continue
		}
		for _, path := range o.paths {
			if program, err := exec.LookPath(path); err == nil {
				return o, program
			}
		}
		return o, ""
	}
	return outsider{}, ""
}

// version is what an outsider says that it is.
func (o outsider) version(program string) string {
	said, err := exec.Command(program, o.asked).Output()
	if err != nil {
		return err.Error()
	}
	line, _, _ := strings.Cut(string(said), "\n")
	return line
}

// mitmdump has it write all flows to a file, its authority's key being no RSA key
// and its console silent.
func mitmdump(b *bench, dir string) ([]string, error) {
	var authority []byte
	for _, file := range []string{"ca-key.pem", "ca.pem"} {
		pem, err := os.ReadFile(filepath.Join(b.caDir, file))
		if err != nil {
			return nil, err
		}
		authority = append(authority, pem...)
	}
	// It asks the system for names, which need not know that of the origin.
	const resolver = "import socket\nask = socket.getaddrinfo\nsocket.getaddrinfo = lambda host, *a, **k: ask('127.0.0.1', *a, **k)\n"
	script := filepath.Join(dir, "resolver.py")
	if err := writeFiles(map[string]string{filepath.Join(dir, "mitmproxy-ca.pem"): string(authority), script: resolver}); err != nil {
		return nil, err
	}
	return []string{
		"--listen-host", "127.0.0.1", "--listen-port", "0", "--save-stream-file", filepath.Join(dir, "flows"), "--scripts", script,
		"--set", "confdir=" + dir, "--set", "flow_detail=0", "--set", "ssl_verify_upstream_trusted_ca=" + b.roots,
	}, nil
}

// squid has it bump every CONNECT and cache nothing, with its access log.
func squid(b *bench, dir string) ([]string, error) {
	certgen, err := anyOf("/usr/lib/squid/security_file_certgen", "/usr/lib64/squid/security_file_certgen", "/usr/libexec/squid/security_file_certgen")
	if err != nil {
		return nil, err
	}
	certificates := filepath.Join(dir, "certificates")
	if out, err := exec.Command(certgen, "-c", "-s", certificates, "-M", "4MB").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", certgen, err, out)
	}
	address, err := freePort()
	if err != nil {
		return nil, err
	}
	config, hosts := filepath.Join(dir, "squid.conf"), filepath.Join(dir, "hosts")
	err = writeFiles(map[string]string{
		hosts: "127.0.0.1 " + party.Host + "\n",
		config: strings.NewReplacer("DIR", dir, "CA", b.caDir, "ROOTS", b.roots, "ADDRESS", address, "CERTGEN", certgen, "STORE", certificates).Replace(`
http_port ADDRESS ssl-bump tls-cert=CA/ca.pem tls-key=CA/ca-key.pem generate-host-certificates=on dynamic_cert_mem_cache_size=4MB
tls_outgoing_options cafile=ROOTS
sslcrtd_program CERTGEN -s STORE -M 4MB
sslcrtd_children 1
ssl_bump bump all
http_access allow all
cache deny all
cache_mem 0
access_log stdio:DIR/access.log
cache_log DIR/cache.log
cache_store_log none
pid_filename none
pinger_enable off
hosts_file DIR/hosts
coredump_dir DIR
shutdown_lifetime 0 seconds
client_persistent_connections on
server_persistent_connections on
`),
	})
	if err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 { // it gives root up for the user that it was built for
		if err := yieldTo("proxy", b.dir, dir); err != nil {
			return nil, err
		}
	}
	return []string{"-N", "-n", fmt.Sprintf("bench%d", os.Getpid()), "-d", "1", "-f", config}, nil
}

// nghttpx has it relay HTTP/2 to the origin of it, by TLS on both sides, without a
// log. It knows no interception: the other half of that, a CONNECT and a leaf, it is
// spared.
func nghttpx(b *bench, dir string) ([]string, error) {
	authority, err := party.LoadAuthority(b.caDir)
	if err != nil {
		return nil, err
	}
	leaf, err := party.Leaf(authority)
	if err != nil {
		return nil, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(leaf.PrivateKey)
	if err != nil {
		return nil, err
	}
	keyFile, leafFile := filepath.Join(dir, "leaf.key"), filepath.Join(dir, "leaf.pem")
	err = writeFiles(map[string]string{
		keyFile:  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
		leafFile: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Certificate[0]})),
	})
	if err != nil {
		return nil, err
	}
	address, err := freePort()
	if err != nil {
		return nil, err
	}
	comma := func(address string) string { return strings.Replace(address, ":", ",", 1) }
	return []string{
		"--conf", os.DevNull, "--single-process", "--no-ocsp", "--frontend", comma(address),
		"--backend", comma(b.origin.HTTP2) + ";;proto=h2;tls;sni=" + party.Host, "--cacert", b.roots,
		"--no-via", "--no-server-rewrite", "--no-add-x-forwarded-proto",
		keyFile, leafFile,
	}, nil
}

func writeFiles(texts map[string]string) error {
	for path, text := range texts {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func anyOf(paths ...string) (string, error) {
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is none of %s", strings.Join(paths, ", "))
}

// freePort is for a program that can't say which one it took.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// yieldTo gives a folder and what is in it to a user, who may pass through the one
// above.
func yieldTo(name, above, dir string) error {
	u, err := user.Lookup(name)
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	if err := os.Chmod(above, 0o711); err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, -1)
	})
}
