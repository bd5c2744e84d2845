// Package install puts a deployment's site routing on a Linux computer, and takes
// it off again: the certificates and the configuration in a folder of root's
// (site.Folder), names in the hosts file, wildcards in resolv.conf, and the
// authority in every store of package trust. What it changes stands in a
// trust.Journal, so that Remove makes each file what it was.
//
// It also has what a process needs that serves an installation: to take its
// secrets from that folder, to drop root's privileges, and to be started again
// when it ends.
package install
