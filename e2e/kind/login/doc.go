// Package login pins the login proxy that a stand-in image is made from: the newest
// version of the module that can be had everywhere. It is a module of its own, since
// nothing of it is the product's.
package login
