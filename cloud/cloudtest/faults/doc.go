// Package faults lets requests to a cloud go wrong, by a script or by chance.
//
// What: a Script says which call of which operation goes wrong and how; Transport
// applies it to HTTP, on this side of the fake, so that "after the effect" is an answer
// that the server gave and nobody got.
//
// Not: no faults of the cloud's own, as a snapshot that fails after it was accepted;
// those are fake.World's.
package faults
