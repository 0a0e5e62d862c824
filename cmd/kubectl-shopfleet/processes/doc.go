// Package processes has the commands that put our processes into a cluster and take
// them out: install and uninstall.
//
// What: their flags, what they say, and the order of their steps. What is installed
// is in package config, how in package manifests.
//
// Not: it makes no connection; the program hands one in.
//
// Trade-offs: the commands keep no state in the cluster beside the objects. Flags are
// therefore the whole wish: who installs again without them asks for the defaults.
package processes
