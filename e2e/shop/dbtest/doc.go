// Package dbtest runs real database servers and other programs for a test.
//
// # Purpose
//
// Start runs PostgreSQL, or MariaDB or MySQL, with data in a folder of its own and on a port
// of its own, that can be killed and started again. It skips the test where the server is
// not installed, and says how to get it. StartProcess runs any program that must not outlive
// the test.
//
// # Non-goals
//
// For production; the servers do not wait for their disks.
//
// # Trade-offs
//
// Programs of the machine instead of containers, so that the tests need neither Docker nor a
// registry. Servers refuse to run as root: if the test does, they run as another user.
package dbtest
