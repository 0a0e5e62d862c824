package v1

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// DatabaseServer identifies the program that runs a database. Two databases with equal ones run the same
// program, and a change of either part is an upgrade. It is a value.
type DatabaseServer struct {
	// version is the version of the spec; empty without a database. At most 64 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`

	// image is the image of the spec, or the official one of the engine. The registry that
	// spec.imageRegistry replaces is that of the spec: a mirror has the same program. It is empty
	// where only the version is known. At most 512 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
}

// OfficialImage returns the official image of a version of an engine.
func (e Engine) OfficialImage(version string) string {
	if e == EngineMySQL {
		return "mysql:" + version
	}
	return "postgres:" + version
}

// Server returns the server of a database; the zero one if there is no database.
func (d *Database) Server() DatabaseServer {
	switch {
	case d == nil:
		return DatabaseServer{}
	case d.Image != "":
		return DatabaseServer{Version: d.Version, Image: d.Image}
	default:
		return DatabaseServer{Version: d.Version, Image: d.Engine.OfficialImage(d.Version)}
	}
}

// SetServer gives a database a server. It keeps the image that the database has if only the version of
// the server is known.
func (d *Database) SetServer(s DatabaseServer) {
	d.Version = s.Version
	switch s.Image {
	case "":
	case d.Engine.OfficialImage(s.Version):
		d.Image = ""
	default:
		d.Image = s.Image
	}
}

// CheckServer returns an error if the server of a database cannot run, or cannot follow the one that its
// files are of. From is nil without files. It is the rule that the schema has as well, for specs that the
// schema does not see: those with overrides, and those of earlier revisions. A server that stays is not checked.
func CheckServer(from, to *Database) error {
	if from != nil && from.Server() == to.Server() {
		return nil
	}
	after := reference(to)
	if err := after.check(); err != nil || from == nil || from.Engine != to.Engine {
		return err
	}
	before := reference(from)
	if before.tag != "" && after.tag != "" && family(before.tag) != family(after.tag) {
		return fmt.Errorf("the tag %s must be of the same distribution as %s, because each sorts texts in its own way: keep the distribution, or restore a dump into a new application", after.tag, before.tag)
	}
	if err := after.checkNamed(before); err != nil {
		return err
	}
	if after.engine == EnginePostgreSQL {
		if before.numbers()[0] != after.numbers()[0] {
			return errors.New("the version must keep its major version, because PostgreSQL cannot read the files of another one: restore a dump into a new application")
		}
		if lowers(before.version, after.version) {
			return errLowered(after.version, before.version)
		}
		return nil
	}
	if lowers(before.version, after.version) || lowers(before.numbers(), after.numbers()) {
		return errLowered(after.numbers(), before.numbers())
	}
	return after.checkUpgrade(before, to.AllowUpgradeTo)
}

// serverReference holds the version and the image of a database, and the numbers in both.
type serverReference struct {
	engine Engine
	// image is empty for the official one. Tag is that of the image in use, empty if it has none.
	image, tag string
	// text is the version as the spec has it.
	text string
	// version and tagged are the numbers of the version and of the tag; the latter are empty if the tag
	// does not begin with a number.
	version, tagged numbers
}

func reference(d *Database) serverReference {
	r := serverReference{engine: d.Engine, image: d.Image, tag: d.Version, text: d.Version, version: numbersOf(d.Version)}
	if len(r.version) == 0 {
		r.version = numbers{0} // The schema accepts none, but not every spec has passed it.
	}
	if d.Image != "" {
		name, _, _ := strings.Cut(d.Image, "@")
		name = name[strings.LastIndexByte(name, '/')+1:]
		_, r.tag, _ = strings.Cut(name, ":")
		r.tagged = numbersOf(r.tag)
	}
	return r
}

// ExactVersion returns the version of the server: that of its tag, if it is more exact than the version of the spec.
func (d *Database) ExactVersion() string {
	r := reference(d)
	if r.image != "" && r.isNamed() && len(r.tagged) > len(r.version) {
		return r.tagged.String()
	}
	return r.text
}

// isNamed reports whether the tag has the version: an image of the user's may have numbers of its own. A
// major version of PostgreSQL suffices, because its files do not differ within one.
func (r serverReference) isNamed() bool {
	switch {
	case r.image == "":
		return true
	case len(r.tagged) == 0:
		return false
	case r.engine == EnginePostgreSQL:
		return r.tagged[0] == r.version[0]
	default:
		shared := min(len(r.tagged), len(r.version))
		return slices.Equal(r.tagged[:shared], r.version[:shared])
	}
}

// numbers returns the numbers of the server: those of its tag, if they are more exact than the version.
func (r serverReference) numbers() numbers {
	if r.image != "" && r.isNamed() && len(r.tagged) > len(r.version) {
		return r.tagged
	}
	return r.version
}

// check returns an error if the image cannot run, or is not one but those that its tag has had.
func (r serverReference) check() error {
	if strings.Contains(r.tag, "alpine") {
		return fmt.Errorf("the tag %s must not be of Alpine, where the user 999 does not exist and texts are sorted in another way: use the tag without it", r.tag)
	}
	named := r.version
	if r.image != "" {
		named = r.tagged
	}
	if r.engine == EngineMySQL && len(named) < maxNumbers && !strings.Contains(r.image, "@") {
		return fmt.Errorf("the tag %q must have three numbers, such as 8.4.2, or the image a digest: MySQL cannot start an earlier version again, which a node may have of the same tag", r.tag)
	}
	return nil
}

// checkNamed returns an error if the image changes, and nothing says to which version.
func (r serverReference) checkNamed(before serverReference) error {
	switch {
	case r.image == before.image || r.isNamed():
		return nil
	case len(r.tagged) > 0 && before.isNamed():
		return fmt.Errorf("the tag %s must have the version %s: change both together", r.tag, r.version)
	case r.engine == EngineMySQL && r.text == before.text:
		return fmt.Errorf("the image %s must have the version as its tag, also with a digest, such as mysql:8.4.2@sha256:HASH: MySQL cannot start an earlier version again", r.image)
	default:
		return nil
	}
}

// checkUpgrade returns an error if MySQL cannot upgrade the files of an earlier server, or the user has not
// agreed: no earlier version can read them again.
func (r serverReference) checkUpgrade(before serverReference, allowed string) error {
	from, to := before.numbers(), r.numbers()
	switch {
	case to[0] <= from[0]:
		return nil
	case to[0] > from[0]+1:
		return errors.New("the version must not skip a major version: MySQL upgrades to the next one only")
	case from[0] == 8 && (len(from) < 2 || from[1] != 4):
		return errors.New("the version must be 8.4 before it can be 9: MySQL upgrades from 8.0 to 8.4, and from there to 9")
	case !covers(numbersOf(allowed), r.version):
		return fmt.Errorf("the version must keep its major version unless allowUpgradeTo is %s or later: no earlier version can read the files of MySQL again", r.version)
	default:
		return nil
	}
}

// maxNumbers is the number of numbers of a version that are compared.
const maxNumbers = 3

// numbers are the leading numbers of a version, at most maxNumbers.
type numbers []int

func (n numbers) String() string {
	texts := make([]string, 0, len(n))
	for _, number := range n {
		texts = append(texts, strconv.Itoa(number))
	}
	return strings.Join(texts, ".")
}

// numbersOf returns the numbers that a version or a tag begins with; none if it begins with something else.
func numbersOf(text string) numbers {
	found := regexp.MustCompile(`^[0-9]{1,9}([.][0-9]{1,9}){0,2}`).FindString(text)
	if found == "" {
		return nil
	}
	var all numbers
	for digits := range strings.SplitSeq(found, ".") {
		number, err := strconv.Atoi(digits)
		if err != nil {
			return nil // At most nine digits fit.
		}
		all = append(all, number)
	}
	return all
}

// lowers reports whether a version is lower than another one, or has lost numbers, so that it may be.
func lowers(from, to numbers) bool {
	for i := range from {
		if i == len(to) {
			return true
		}
		if from[i] != to[i] {
			return to[i] < from[i]
		}
	}
	return false
}

// upgrades reports whether a server of MySQL has a later version than another one.
func (e Engine) upgrades(from, to DatabaseServer) bool {
	if e != EngineMySQL {
		return false
	}
	before, after := reference(&Database{Engine: e, Version: from.Version, Image: from.Image}), reference(&Database{Engine: e, Version: to.Version, Image: to.Image})
	return lowers(after.numbers(), before.numbers())
}

// RaisesMajor reports whether a database is one of MySQL with a later major version than a server.
func (d *Database) RaisesMajor(from DatabaseServer) bool {
	if d == nil || d.Engine != EngineMySQL {
		return false
	}
	before := reference(&Database{Engine: d.Engine, Version: from.Version, Image: from.Image})
	return reference(d).numbers()[0] > before.numbers()[0]
}

// covers reports whether consent up to a version covers another one, by the numbers that the consent has.
func covers(allowed, to numbers) bool {
	for i := range allowed {
		if i == len(to) {
			return false // Such as a tag 9, which may be 9.7, for consent up to 9.1.
		}
		if to[i] != allowed[i] {
			return to[i] < allowed[i]
		}
	}
	return len(allowed) > 0
}

func errLowered(to, from numbers) error {
	return fmt.Errorf("the version cannot be lowered from %s to %s, nor lose numbers: a database cannot read the files of a newer version. Keep the version with its numbers, or restore a dump into a new application", from, to)
}

// family returns the distribution in a tag, such as bookworm; empty for that of the engine's choice.
func family(tag string) string {
	found := regexp.MustCompile(`[-.](buster|bullseye|bookworm|trixie|forky|focal|jammy|noble|(alpine|debian|ubuntu|oraclelinux|oracle|ubi)[0-9]*)`).FindString(tag)
	return strings.TrimLeft(found, "-.")
}
