package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentenv/netlog/capture/traffic"
)

// exitPartial says that something was fetched, and not all.
const exitPartial = 3

// fetchFlags are the flags of fetch, as given.
type fetchFlags struct {
	out     string
	token   string
	proxy   string
	timeout time.Duration
	probe   bool
}

func newFetch(token string) *cobra.Command {
	var f fetchFlags
	c := &cobra.Command{
		Use:   "fetch URL...",
		Short: "Collect the captures and the HAR of an env",
		Long: `Collect the captures and the HAR of an env, or of several, each by itself: URL is
where it has its card (/.well-known/agent-env.json), such as the address of
"agentenv-netlog serve". Do it before the env is taken down.

The files are CONTAINER-NN.pcap and network.har, in the folder --out or, of several
envs, in a folder each below it. A file appears whole or not at all. manifest.json
says what there is: its state, each file's size, SHA-256 and first packet, and why
something is missing. It is true at any moment.

Run again it fetches what is new or has grown, and overwrites nothing else.

The control token of the environment variable ` + tokenVariable + ` goes along, to the
address and below it alone; no redirect is followed. No proxy of the environment's
is asked (HTTP_PROXY, HTTPS_PROXY): it may be one that records, and would have the
token. --proxy names one where an env can be reached by it alone; it sees the token
of an http:// URL.

The exit status is 0 when all was collected, 3 when something is missing, 1 when
there is nothing.`,
		Example: `  agentenv-netlog fetch http://127.0.0.1:8080 --out traffic
  agentenv-netlog fetch http://one:8080 http://two:8080 --out traffic --timeout 5m
  agentenv-netlog fetch --probe http://127.0.0.1:8080`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("fetch wants the URL of an env")
			}
			return nil
		},
		RunE: func(c *cobra.Command, urls []string) error {
			f.token = cmp.Or(f.token, token)
			return runFetch(c.Context(), f, urls, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.StringVarP(&f.out, "out", "o", "traffic", "`FOLDER` for the files")
	flags.StringVar(&f.token, "token", "", "control `TOKEN`, in place of the environment's; others on this machine can see a command line")
	flags.StringVar(&f.proxy, "proxy", "", "reach the envs through the proxy at `URL`: http, https, socks5 or socks5h, with USER:PASSWORD@ if it asks")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Minute, "how long it may take in all, whatever hangs; 0 for ever")
	flags.BoolVar(&f.probe, "probe", false, "fetch nothing: say whether the routes refuse who has no token or a wrong one")
	return c
}

func runFetch(ctx context.Context, f fetchFlags, urls []string, stdout, stderr io.Writer) error {
	if err := checkToken(f.token); err != nil {
		return err
	}
	if f.timeout < 0 {
		return misused(fmt.Errorf("--timeout %v is below 0", f.timeout), "give a duration such as 10m, or 0 for ever")
	}
	collectors, err := f.collectors(urls)
	if err != nil {
		return err
	}
	defer closeAll(collectors)
	if f.probe {
		return runProbe(ctx, f, collectors, stdout)
	}
	return overseeFetch(f, urls, stderr)
}

// lastWords is how much longer than its time a fetch may take, to say in the
// manifest that it did not have enough.
const lastWords = 2 * time.Second

// overseeFetch has the work done by a process of its own. A call to a disk that
// hangs can't be given up, and a process that is in one can't even end; one that
// never touches the disk can, and still tell how far the other has come.
func overseeFetch(f fetchFlags, urls []string, stderr io.Writer) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer close(signals)
	defer signal.Stop(signals)
	stop := stops(signals)
	w, err := startFetchWorker(f, urls, stderr)
	if err != nil {
		return failed(fmt.Errorf("start the work: %w", err), "")
	}
	var deadline <-chan time.Time // never
	if f.timeout > 0 {
		deadline = time.After(f.timeout + lastWords)
	}
	why := fmt.Sprintf("it took more than %v", f.timeout)
	for asked := false; ; {
		select {
		case code := <-w.ended:
			switch {
			case code == 0:
				return nil
			case code < 0:
				return w.unfinished("a signal ended the work")
			}
			return exitCode(code) // it has said why
		case <-stop:
			if why = "interrupted"; asked {
				return w.abandon(why)
			}
			asked, deadline = true, time.After(lastWords)
			w.stop.Close()
		case <-deadline:
			return w.abandon(why)
		}
	}
}

// A fetchWorker is a process that fetches. It has nothing of ours open, so that
// who waits for our output does not wait for it.
type fetchWorker struct {
	command *exec.Cmd
	stop    io.Closer    // its standard input: closed, it comes to its end
	saved   atomic.Int64 // files that stand in a manifest
	bar     *bar
	ended   chan int // its exit status
}

// A fetchEvent is what a worker tells, a line of JSON each.
type fetchEvent struct {
	Env      int               `json:"env"`
	Saved    bool              `json:"saved,omitempty"`
	Progress *traffic.Progress `json:"progress,omitempty"`
}

func startFetchWorker(f fetchFlags, urls []string, stderr io.Writer) (*fetchWorker, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := append([]string{fetchWorkName, "--out", f.out, "--timeout", f.timeout.String(), "--"}, urls...)
	w := &fetchWorker{command: exec.Command(path, args...), bar: newBar(stderr, len(urls)), ended: make(chan int, 1)}
	w.command.Args[0] = os.Args[0]
	w.command.Stderr = w.bar
	stdin, err := w.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	told, tells, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer tells.Close()
	w.command.ExtraFiles = []*os.File{tells} // its file descriptor 3
	if err := w.command.Start(); err != nil {
		told.Close()
		return nil, err
	}
	w.stop = stdin
	go w.follow(told)
	// Not on the command line nor in the environment, which others can see.
	if _, err := io.WriteString(stdin, f.token+"\n"+f.proxy+"\n"); err != nil {
		return nil, errors.Join(err, stdin.Close())
	}
	return w, nil
}

// follow hears what the worker tells until it ends.
func (w *fetchWorker) follow(told io.ReadCloser) {
	defer told.Close()
	for in := json.NewDecoder(told); ; {
		var e fetchEvent
		if in.Decode(&e) != nil {
			break
		}
		if e.Saved {
			w.saved.Add(1)
		}
		if e.Progress != nil {
			w.bar.tell(e.Env, *e.Progress)
		}
	}
	w.command.Wait()
	w.ended <- w.command.ProcessState.ExitCode()
}

// abandon leaves the worker to the disk that it waits for.
func (w *fetchWorker) abandon(why string) error {
	w.stop.Close()
	w.command.Process.Kill() // it ends when the disk lets it
	return w.unfinished(why + ", and the disk does not answer")
}

// unfinished is the failure of a worker that can't say itself how far it came.
func (w *fetchWorker) unfinished(why string) error {
	w.bar.Write(nil)
	code := exitFailed
	if w.saved.Load() > 0 {
		code = exitPartial
	}
	return &failure{errors.New(why), "the manifest is true of what was stored; run it again for the rest", code}
}
