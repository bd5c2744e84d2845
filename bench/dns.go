package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/miekg/dns"

	"github.com/agentenv/netlog/ca"
)

// asking is how many ask the sites' nameserver at a time.
const asking = 32

// names is how many answers about names of sites the nameserver gives in a second.
func (b *bench) names(ctx context.Context) (parts []part, err error) {
	config, err := b.sites()
	if err != nil {
		return nil, err
	}
	s, err := start(filepath.Join(b.dir, "agentenv-netlog"), []string{"sites", "run", config})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	at := regexp.MustCompile(`(\S+) \(dns\)`).FindStringSubmatch(s.said)
	if at == nil {
		return nil, fmt.Errorf("sites run listens on %q: no nameserver", s.said)
	}
	rounds := make([]part, b.rounds)
	for i := range rounds {
		before, err := s.cpu()
		if err != nil {
			return nil, err
		}
		began := time.Now()
		n, err := askFor(ctx, at[1], began.Add(time.Duration(b.seconds*float64(time.Second))))
		if err != nil {
			return nil, err
		}
		took := time.Since(began)
		now, err := s.cpu()
		if err != nil {
			return nil, err
		}
		rounds[i] = part{
			name: nameDNS, about: fmt.Sprintf("an answer about a site's name, %d asking at a time", asking),
			took: took * asking / time.Duration(n), cpu: (now.all - before.all) / time.Duration(n),
			answers: float64(n) / took.Seconds(),
		}
	}
	slices.SortFunc(rounds, func(a, b part) int { return cmp.Compare(a.answers, b.answers) })
	return rounds[len(rounds)/2 : len(rounds)/2+1], nil
}

// sites writes a configuration of one site, whose names are a wildcard's.
func (b *bench) sites() (path string, err error) {
	domains := []string{"*.bench.test"}
	authority, leaves, err := ca.Deploy("bench", time.Hour, domains)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{
		"https_port": 0, "http_port": 0, "dns_port": 0, "network_log": filepath.Join(b.dir, "sites.jsonl"), "nameservers": []string{"127.0.0.1:9"},
		"ca_pem": string(authority),
		"sites": []map[string]any{{
			"name": "bench", "upstream": "http://127.0.0.1:9/website/bench/", "domains": domains,
			"cert_pem": string(leaves[0].Certificate), "key_pem": string(leaves[0].Key),
		}},
	})
	if err != nil {
		return "", err
	}
	path = filepath.Join(b.dir, "sites.json")
	return path, os.WriteFile(path, text, 0o600)
}

// askFor asks until then and returns the number of answers.
func askFor(ctx context.Context, address string, until time.Time) (n int, err error) {
	question, err := new(dns.Msg).SetQuestion("www.bench.test.", dns.TypeA).SetEdns0(1232, false).Pack()
	if err != nil {
		return 0, err
	}
	var mu sync.Mutex
	var running sync.WaitGroup
	for range asking {
		running.Go(func() {
			answers, asked := askOne(ctx, address, question, until)
			mu.Lock()
			defer mu.Unlock()
			n += answers
			err = errors.Join(err, asked)
		})
	}
	running.Wait()
	return n, err
}

// askOne asks as one resolver does, from one port.
func askOne(ctx context.Context, address string, question []byte, until time.Time) (n int, err error) {
	c, err := net.Dial("udp", address)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	question, answer := append([]byte(nil), question...), make([]byte, 1232)
	for id := uint16(1); time.Now().Before(until) && ctx.Err() == nil; id++ {
		binary.BigEndian.PutUint16(question, id)
		c.SetDeadline(time.Now().Add(5 * time.Second))
		if _, err := c.Write(question); err != nil {
			return n, err
		}
		size, err := c.Read(answer)
		if err != nil {
			return n, err
		}
		// RFC 1035 §4.1.1: the question's identifier, no error, one answer.
		if size < 12 || binary.BigEndian.Uint16(answer) != id || answer[3]&0x0f != dns.RcodeSuccess || binary.BigEndian.Uint16(answer[6:]) != 1 {
			return n, fmt.Errorf("%q is no answer", answer[:size])
		}
		n++
	}
	return n, ctx.Err()
}
