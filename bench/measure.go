package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/agentenv/netlog/bench/internal/load"
	"github.com/agentenv/netlog/bench/internal/origin"
	"github.com/agentenv/netlog/bench/internal/party"
)

// A bench holds the origin and what the parties need.
type bench struct {
	options
	dir    string // the programs, the authority and what parties write
	caDir  string
	roots  string         // FILE of the origin's certificate
	pool   *x509.CertPool // of the authority: what a decrypting proxy shows
	origin *origin.Origin
	runs   int // numbers the folders that parties write to
}

func newBench(dir string, o options) (*bench, error) {
	b := &bench{options: o, dir: dir, caDir: filepath.Join(dir, "ca"), roots: filepath.Join(dir, "origin.pem")}
	out, err := exec.Command(filepath.Join(dir, "agentenv-netlog"), "ca", "create", "--ca-dir", b.caDir).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("making an authority: %w: %s", err, out)
	}
	authority, err := party.LoadAuthority(b.caDir)
	if err != nil {
		return nil, err
	}
	b.pool = x509.NewCertPool()
	b.pool.AddCert(authority.Leaf)
	certificate, pem, err := party.SelfSigned()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(b.roots, pem, 0o600); err != nil {
		return nil, err
	}
	b.origin, err = origin.Start(certificate)
	return b, err
}

func (b *bench) close() { b.origin.Close() }

// measure has every party serve w in turns.
func (b *bench) measure(ctx context.Context, w workload) ([]row, error) {
	names := w.parties
	if b.before != "" {
		names = append([]string{"before"}, names...)
	}
	var rows []row
	for _, name := range names {
		if name != "before" && !selected(b.options.parties, name) {
			continue
		}
		if o, program := outside(name); o.name != "" && program == "" {
			continue
		}
		rows = append(rows, row{workload: w, party: name})
	}
	rounds := b.rounds
	if w.idle {
		rounds = min(rounds, 3) // memory hardly varies
	}
	samples := make([][]sample, len(rows)) // of each row
	for round := range rounds {
		for i := range rows {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if rows[i].err != nil {
				continue
			}
			fmt.Fprintf(os.Stderr, "\r\033[K%s, round %d of %d: %s", w.name, round+1, rounds, rows[i].party)
			s, err := b.turn(ctx, w, rows[i].party)
			if err != nil {
				rows[i].err = err
				continue
			}
			samples[i] = append(samples[i], s)
		}
	}
	fmt.Fprint(os.Stderr, "\r\033[K")
	for i := range rows {
		if rows[i].err == nil {
			rows[i].sample = median(samples[i])
		}
	}
	return rows, nil
}

// turn starts a party anew, measures it and ends it.
func (b *bench) turn(ctx context.Context, w workload, name string) (s sample, err error) {
	p, err := b.startParty(w, name)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, p.stop(), os.RemoveAll(p.dir)) }()
	c := w.load
	o, _ := outside(name)
	c.Proxy, c.Direct = p.address, o.direct
	address := b.origin.Plain
	if w.secure {
		protocol := "http/1.1"
		address = b.origin.TLS
		if c.Streams > 0 {
			protocol, address = "h2", b.origin.HTTP2
		}
		c.TLS = &tls.Config{RootCAs: b.pool, ServerName: party.Host, NextProtos: []string{protocol}}
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return s, err
	}
	c.Authority = net.JoinHostPort(party.Host, port)
	before, err := p.memory("VmRSS")
	if err != nil {
		return s, err
	}
	files, err := p.files()
	if err != nil {
		return s, err
	}
	g, err := load.Dial(ctx, c)
	if err != nil {
		return s, err
	}
	defer g.Close()
	if _, err := g.Run(ctx, w.warmUp); err != nil {
		return s, err
	}
	if w.idle {
		time.Sleep(settle)
		now, err := p.memory("VmRSS")
		if err != nil {
			return s, err
		}
		open, err := p.files()
		return sample{rss: now, connection: (now - before) / int64(c.Connections), files: float64(open-files) / float64(c.Connections)}, err
	}
	return b.figures(ctx, w, p, g)
}

// settle is how long a party may go on working, on a log for example, behind
// its last answer.
const settle = 200 * time.Millisecond

// figures measures a party that is warm.
func (b *bench) figures(ctx context.Context, w workload, p *process, g *load.Generator) (s sample, err error) {
	time.Sleep(settle)
	before, err := p.cpu()
	if err != nil {
		return s, err
	}
	r, err := g.Run(ctx, time.Duration(b.seconds*float64(time.Second)))
	if err != nil {
		return s, err
	}
	time.Sleep(settle)
	now, err := p.cpu()
	if err != nil {
		return s, err
	}
	user, system := now.since(before)
	units := float64(r.Requests)
	if w.perGiB {
		units = float64(r.Bytes) / (1 << 30)
	}
	s.user = time.Duration(float64(user) / units)
	s.system = time.Duration(float64(system) / units)
	s.rate = float64(r.Requests) / r.Took.Seconds()
	s.bytesRate = float64(r.Bytes) / r.Took.Seconds()
	s.p50, s.p99 = r.P50, r.P99
	s.rss, err = p.memory("VmHWM")
	return s, err
}

// startParty starts a party with a folder of its own to write to.
func (b *bench) startParty(w workload, name string) (*process, error) {
	b.runs++
	dir := filepath.Join(b.dir, fmt.Sprintf("run-%d", b.runs))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	p, err := b.startIn(w, name, dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p.dir = dir
	return p, nil
}

func (b *bench) startIn(w workload, name, dir string) (*process, error) {
	if o, program := outside(name); program != "" {
		args, err := o.args(b, dir)
		if err != nil {
			return nil, err
		}
		p, err := startSaying(o.ready, program, args)
		if err != nil {
			return nil, err
		}
		p.dies = o.dies
		return p, p.reached()
	}
	return start(b.command(w, name, dir))
}

// command is the program of a party of ours and its arguments.
func (b *bench) command(w workload, name, dir string) (program string, args []string) {
	if name == "before" || name == "ours" && b.profile == "" {
		args := []string{"proxy", "--listen", "127.0.0.1:0", "--log", filepath.Join(dir, "network.jsonl"),
			"--drain", "0s", "--ca-dir", b.caDir, "--upstream-ca", b.roots}
		if w.tunnel {
			args = append(args, "--tunnel", party.Host)
		}
		if w.noHash {
			args = append(args, "--hash", "off")
		}
		if name == "before" {
			return b.before, args
		}
		return filepath.Join(b.dir, "agentenv-netlog"), args
	}
	args = []string{"-ca-dir", b.caDir, "-upstream-ca", b.roots}
	if name == "ours" {
		args = append(args, "-dir", dir, "-profile", b.profile+"-"+w.name)
		if w.noHash {
			args = append(args, "-no-hash")
		}
	}
	if w.tunnel {
		args = append(args, "-tunnel")
	}
	return filepath.Join(b.dir, name), args
}
