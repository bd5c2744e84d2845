package main

import (
	"crypto/subtle"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/agentenv/netlog/cmd/internal/api"
)

// tokenVariable holds the token of who controls an env.
const tokenVariable = "AGENTENV_CONTROL_TOKEN"

// providerVariable names the header fields that a sandbox's provider adds to
// requests.
const providerVariable = "AGENTENV_PROVIDER_REQUEST_HEADERS"

const tokenHelp = `The environment variable ` + tokenVariable + ` is the token that all but the card
and /website/ ask for (Authorization: Bearer TOKEN). Without it they are open to
whoever reaches them.`

// secretVariables hold what no program that is started from here is to have.
var secretVariables = []string{
	tokenVariable, roleKeyVariable, variable("token"), variable("proxy"), variable("proxy-user"), variable("upstream-proxy"),
}

// takeToken reads the control token and takes it out of the environment, so that
// no program that is started from here gets it.
func takeToken() string {
	if slices.ContainsFunc(secretVariables, func(name string) bool { return os.Getenv(name) != "" }) {
		keepPrivate()
	}
	token := os.Getenv(tokenVariable)
	os.Unsetenv(tokenVariable)
	return token
}

// withheld says which fields of requests are no business of a log: the control
// token, the key that makes a role believed, and what the environment says that a
// sandbox's provider adds.
func withheld(token string) func(name, value string) bool {
	provider := strings.Split(os.Getenv(providerVariable), ",")
	return func(name, value string) bool {
		if strings.EqualFold(name, "Authorization") && token != "" {
			return subtle.ConstantTimeCompare([]byte(value), []byte("Bearer "+token)) == 1
		}
		return strings.EqualFold(name, "AgentEnv-Role-Key") ||
			slices.ContainsFunc(provider, func(p string) bool { return strings.EqualFold(strings.TrimSpace(p), name) })
	}
}

func checkToken(token string) error {
	if err := api.CheckToken(token); err != nil {
		return misused(fmt.Errorf("%s: %w", tokenVariable, err), "set it to the token alone, without quotes or a line's end")
	}
	return nil
}
