// Package setup assembles the spoke: the reconcilers of EcommerceApp, WebApp and
// MySQLCluster in one cluster, without a hub.
//
// # Purpose
//
// Run builds the scheme, the manager with its caches, probes, metrics and leader
// election, and the controllers, and runs them until its context is done.
//
// # Non-goals
//
// The package reads no environment beyond what client-go reads to find a kubeconfig. The
// behaviour is in package controller; package manager has what hub and spoke share.
//
// # Trade-offs
//
// A missing CustomResourceDefinition only keeps its own kind from being reconciled until
// it is installed. The program keeps running and logs it: a crash loop would be harder to
// diagnose.
package setup
