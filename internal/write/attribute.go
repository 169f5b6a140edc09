package write

import "strings"

// The attributes by which statements conflict. Others are made of what the
// statement names: "favourite:colour", "decision:database", "deadline".
const (
	Residence    = "residence"
	Employer     = "employer"
	JobTitle     = "job title"
	Name         = "name"
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
	SideJob  = "side job"
	// Habit is the beginning of the attributes of what somebody drinks, eats,
	// smokes or takes: "habit:drink".
	Habit = "habit:"
	// Origin is where somebody is from: a town and its country both.
	Origin = "origin"
)

// additive reports whether an attribute has many values at once.
func additive(attribute string) bool {
	switch attribute {
	case Likes, Pet, Child, Language, Hobby, Allergy, Owns, Visited, Relative, Origin, SideJob:
		return true
	}
	return strings.HasPrefix(attribute, Relative+":") || strings.HasPrefix(attribute, Habit)
}

// regions are countries and the like, by lower-case name: living in Germany does
// not contradict living in Berlin, for all a rule knows.
var regions = func() map[string]bool {
	m := make(map[string]bool)
	for _, name := range strings.Split("germany,france,spain,italy,portugal,austria,switzerland,belgium,netherlands,the netherlands,denmark,norway,sweden,finland,iceland,ireland,uk,united kingdom,england,scotland,wales,poland,czechia,czech republic,"+
		"slovakia,hungary,romania,bulgaria,greece,turkey,croatia,serbia,slovenia,ukraine,russia,estonia,latvia,lithuania,europe,usa,us,united states,america,canada,mexico,brazil,argentina,chile,colombia,peru,china,japan,south korea,korea,india,"+
		"pakistan,bangladesh,indonesia,malaysia,thailand,vietnam,philippines,australia,new zealand,south africa,nigeria,kenya,egypt,morocco,israel,iran,iraq,saudi arabia,uae,asia,africa,california,texas,florida,oregon,washington state,bavaria,"+
		"catalonia,andalusia,tuscany,normandy,brittany,deutschland,frankreich,spanien,italien,österreich,die schweiz,schweiz,españa,francia,alemania,italia,france,allemagne,espagne,italie,germania,spagna,alemanha,espanha,frança,itália,brasil,中国,德国,法国,日本,美国,英国", ",") {
		m[name] = true
	}
	return m
}()

// moves reports whether a text speaks of a change of place, which ends the old
// one however exactly either is given.
func moves(text string) bool {
	lower := strings.ToLower(text)
	for _, sign := range []string{"moved", "relocated", "settled", "gezogen", "mudé", "mudamos", "mudado", "déménagé", "trasferit", "mudei", "搬"} {
		if strings.Contains(lower, sign) {
			return true
		}
	}
	return false
}
