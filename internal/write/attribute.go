package write

import "strings"

// The attributes by which statements conflict. Others are made of what the
// statement names: "favourite:colour", "decision:database", "deadline".
const (
	Residence    = "residence"
	Employer     = "employer"
	JobTitle     = "job title"
	Name         = "name"
	Origin       = "origin"
	Age          = "age"
	Birthday     = "birthday"
	Relationship = "relationship"
	Diet         = "diet"
	Car          = "car"
	Phone        = "phone"
	Email        = "e-mail"
	Address      = "address"
)

// The attributes that have many values at once: another value is one more, not
// a new one.
const (
	Likes    = "likes"
	Pet      = "pet"
	Child    = "child"
	Language = "language"
	Hobby    = "hobby"
	Allergy  = "allergy"
	Owns     = "owns"
	Visited  = "visited"
	Relative = "relative"
)

// additive reports whether an attribute has many values at once.
func additive(attribute string) bool {
	switch attribute {
	case Likes, Pet, Child, Language, Hobby, Allergy, Owns, Visited, Relative:
		return true
	}
	return strings.HasPrefix(attribute, Relative+":")
}
