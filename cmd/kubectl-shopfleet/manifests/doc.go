// Package manifests puts our processes into a cluster, and takes them out.
//
// What: a plan is a list of objects, which is applied in its order with
// server-side apply. Definitions are waited for before anything that follows. A
// Deployment is followed until all its pods are of the new generation, and when
// that does not happen in time the pods are asked why. Removing goes backwards.
//
// Not: it does not know what is installed (package config does) and prints nothing.
//
// Trade-offs:
//   - What an apply would change is asked for in a dry run and compared with what is
//     there, managed fields included. So nothing is written to what is as it should
//     be, and an upgrade is the same command. The price is a second request an object.
//   - Fields of other managers in our intent are taken over: whoever scaled the
//     Deployment by hand finds it scaled back.
//   - An object that an older version had and this one has not is not deleted.
//   - Namespaces and definitions are never removed with the rest: with them go the
//     registrations and every shop. Definitions have a way of their own, which
//     refuses while one object of theirs is left.
package manifests
