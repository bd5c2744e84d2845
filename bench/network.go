package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// network is what a call for the last line of a long log takes, by HTTP.
func (b *bench) network(ctx context.Context) (parts []part, err error) {
	log, err := b.gibLog()
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(log)
	if err != nil {
		return nil, err
	}
	s, err := start(filepath.Join(b.dir, "agentenv-netlog"), []string{"serve", "--listen", "127.0.0.1:0", "--log", log})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	const calls = 200
	last := 1 + 2*gibEntries // the start line, and two of each entry
	took := make([]time.Duration, calls)
	for i := range took {
		began := time.Now()
		answer, err := ask(ctx, s.address, fmt.Sprintf(`{"after":%d}`, last-1))
		took[i] = time.Since(began)
		if err != nil {
			return nil, err
		}
		if !strings.HasSuffix(answer, fmt.Sprintf(`],"next":%d,"more":false,"begun_again":false,"unreadable":0,"missing":0}`, last)) {
			return nil, fmt.Errorf("network answers %.200s", answer)
		}
	}
	about := fmt.Sprintf("the last line of a log of %.2g GiB, asked for by HTTP", float64(info.Size())/(1<<30))
	return []part{{name: nameNetwork, about: about, took: middleOf(took)}}, nil
}

func ask(ctx context.Context, address, params string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/agentenv/ext/browser/network", strings.NewReader(params))
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	return string(b), err
}
