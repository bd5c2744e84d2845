// Command agentenv-netlog records what a browser, or any other program that
// takes a proxy, does on the network, and turns the record into HAR 1.2.
//
//	agentenv-netlog demo                        # all of it, in the current folder
//	agentenv-netlog record -- chromium          # one command, one HAR
//	agentenv-netlog proxy --log network.jsonl   # a proxy until Ctrl-C
//	agentenv-netlog har network.jsonl           # its log as a HAR, at any time
//	agentenv-netlog show network.jsonl          # its log as a table, or one entry in full
//	agentenv-netlog check network.jsonl x.har   # whether logs and HARs are valid
//	agentenv-netlog capture --name site         # packets, by tcpdump, to TRAFFIC_CAPTURE_DIR
//	agentenv-netlog serve --log network.jsonl   # its log, HAR and captures over HTTP
//	agentenv-netlog fetch http://gateway:8080   # another's captures and HAR, collected
//	agentenv-netlog sites install sites.json    # websites behind a gateway, by name
//
// Each flag is also an environment variable: --ca-dir is AGENTENV_NETLOG_CA_DIR.
// What goes wrong is one line "agentenv-netlog: error: …" and one line
// "agentenv-netlog: hint: …" on standard error, with exit status 1; 2 says that
// the command line was wrong. Results go to standard output, all else to
// standard error.
package main

import (
	"context"
	"io"
	"log"
	"os"
)

func main() {
	log.SetOutput(io.Discard) // where net/http puts the bytes of servers that speak unasked
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
