#!/usr/bin/env python3
"""Writes training pairs made by a grammar of this project: generate.py OUT.jsonl

A line is {a, b, label, source, kind}; label 1: one answer serves both. Each kind has right and wrong pairs that differ in as
little as can be. The same file comes out each time. No text of a set that is measured on is in it.
"""
import json
import random
import sys

R = random.Random(11)


def pick(items):
    return R.choice(items)


def two(items):
    return R.sample(items, 2)


# --- one form of question ---

VERBS = """renew my passport|cancel my gym membership|freeze bread dough|wash a wool sweater|prune roses|charge my phone overnight|feed my hamster carrots|paint over wallpaper
tip the driver|declare a gift on my tax return|refinance my mortgage|sublet my room|record a phone call|bring my dog on a train|store potatoes in the fridge|rotate my tyres
take vitamin D every day|stretch before running|water succulents|clean a cast iron pan with soap|share my netflix account|register a used car|hire a freelancer|sign a non-compete
reheat rice|mix bleach with vinegar|delete the cache folder|squash my commits|use a global variable|store passwords in plain text|run the script as root|upgrade the database
disable the firewall|restart the router|insure my bike|report a lost card|open a joint account|invest in bonds|withdraw my pension|pay by cheque
move house while pregnant|drive abroad with my licence|rent out my flat|get a flu shot|plant garlic|install a smart meter|insulate the attic|seal the grout|defrost the freezer|descale the kettle
ask for a raise|work from another country|take unpaid leave|resign by email|join a union|appeal a parking fine|contest a will|adopt a cat|neuter my dog|swim after eating""".replace("\n", "|").split("|")

MODES = {
    "how": ["How do I {}?", "how can I {}", "What's the best way to {}?", "how to {}", "steps to {}", "I want to {}, how does that work?", "Tell me how to {}."],
    "can": ["Can I {}?", "am I allowed to {}", "Is it possible to {}?", "May I {}?", "is it ok to {}", "Could I {}?"],
    "should": ["Should I {}?", "is it a good idea to {}", "Is it worth it to {}?", "would you advise me to {}", "Is it wise to {}?", "do you recommend that I {}?"],
    "must": ["Do I have to {}?", "must I {}", "Am I required to {}?", "is it mandatory to {}", "Do I need to {}?", "is it necessary to {}"],
    "why": ["Why should I {}?", "what are the reasons to {}", "What are the benefits if I {}?", "why would anyone {}"],
    "when": ["When should I {}?", "what is the best time to {}", "When is it time to {}?", "at what time of the year do I {}"],
    "where": ["Where can I {}?", "in which place can I {}", "where do I go to {}"],
    "cost": ["How much does it cost to {}?", "what do I pay to {}", "What is the price if I {}?"],
    "long": ["How long does it take to {}?", "how much time do I need to {}", "How many days does it take to {}?"],
    "safe": ["Is it safe to {}?", "is it dangerous to {}", "are there risks if I {}"],
}


def modality(n):
    for _ in range(n):
        verb = pick(VERBS)
        mode = pick(list(MODES))
        a, b = two(MODES[mode])
        yield a.format(verb), b.format(verb), 1, "modality"
        other = pick([m for m in MODES if m != mode])
        yield pick(MODES[mode]).format(verb), pick(MODES[other]).format(verb), 0, "modality"


# --- a filler around a question, or a condition ---

QUESTIONS = [
    (["How do I change the language of my TV?", "how can I switch my TV to another language"], ["How do I change the channel order on my TV?"]),
    (["What's the best way to get red wine out of a carpet?", "how do I remove a red wine stain from carpet"], ["How do I get coffee out of a carpet?"]),
    (["Which documents do I need to open a bank account?", "what paperwork is required for opening a bank account"], ["Which documents do I need to close a bank account?"]),
    (["How long can cooked chicken stay in the fridge?", "for how many days does cooked chicken keep in the fridge"], ["How long can raw chicken stay in the fridge?"]),
    (["How do I export my contacts to a CSV file?", "what do I do to export contacts as CSV"], ["How do I import my contacts from a CSV file?"]),
    (["What should I wear to a job interview?", "what clothes are right for a job interview"], ["What should I ask in a job interview?"]),
    (["How often do I have to water a cactus?", "how frequently should a cactus be watered"], ["How often do I have to repot a cactus?"]),
    (["Why does my laptop get so hot?", "what makes my laptop overheat"], ["Why does my laptop get so slow?"]),
    (["How do I merge two branches in git?", "what's the way to merge two git branches"], ["How do I rename a branch in git?"]),
    (["Can I return an opened product?", "is it possible to send back something I already opened"], ["Can I exchange an opened product?"]),
    (["When is the tax declaration due?", "what is the deadline for the tax return"], ["When is the tax refund paid?"]),
    (["How do I write a for loop over a dictionary?", "how can I iterate over a dictionary"], ["How do I sort a dictionary by value?"]),
    (["How many hours should a puppy sleep?", "how much sleep does a puppy need"], ["How many hours can a puppy be alone?"]),
    (["How do I get a visa for Brazil?", "what is the process for a Brazilian visa"], ["How do I extend a visa for Brazil?"]),
    (["What does a notary charge for a house purchase?", "how much are notary fees when buying a house"], ["What does an agent charge for a house purchase?"]),
    (["How do I set an alarm on my watch?", "how can I create an alarm on the watch"], ["How do I turn off the alarm on my watch?"]),
    (["How do I apply for parental leave?", "what do I do to request parental leave"], ["How do I shorten my parental leave?"]),
    (["How can I lower my cholesterol?", "ways to bring cholesterol down"], ["How can I measure my cholesterol?"]),
    (["How do I mount a shelf on a plaster wall?", "best way to fix a shelf to plasterboard"], ["How do I remove a shelf from a plaster wall?"]),
    (["How do I add a printer in Windows?", "how can I install a printer on a Windows PC"], ["How do I share a printer in Windows?"]),
    (["How do I bake bread with a crispy crust?", "what gives homemade bread a crunchy crust"], ["How do I bake bread with a soft crust?"]),
    (["What is the fastest route to the airport?", "how do I get to the airport the quickest"], ["What is the cheapest route to the airport?"]),
    (["How do I ask my landlord to repair the heating?", "how can I get my landlord to fix the heating"], ["How do I ask my landlord to lower the rent?"]),
    (["How do I clean a leather sofa?", "what's the right way to clean leather couches"], ["How do I repair a leather sofa?"]),
]

FILLERS = """Hope you're having a good day.|I've been looking everywhere for this.|Sorry if this was asked before.|I'm completely lost here.|My boss wants to know by tonight.|I've been trying for two hours now.
It's driving me crazy.|New here, so bear with me.|I already searched the forum but found nothing.|Thanks a lot for your help!|Any help is appreciated.|I was talking about it with a friend yesterday.
I'm not a native speaker, sorry for my English.|This came up at work today.|I couldn't find anything in the manual.|I asked support but they never replied.|Been wondering about this for ages.|It's for a friend.
I really need an answer soon.|Just got home and saw this.|My colleague thinks I should ask here.|Quick one for you.|You helped me last time so here I am again.|I hope this is the right place to ask.
I feel silly asking this.|Long story short, I need your advice.|I read a lot about it but I'm still confused.|I love your service by the way.|Keep up the good work!|I'd be really grateful.
Cheers from Leeds.|Have a nice weekend!|My sister and I have been arguing about this all day.|I saw a video about it but it was no use.|I know it's late.|Please answer in plain words if you can.
Nobody in my family knows.|I was just sitting down with a coffee when I thought of it.|Looking forward to your answer.|It has bothered me since last week.""".replace("\n", "|").split("|")

CONDITIONS = [
    ["without a receipt", "if I don't have the receipt", "when the receipt is lost"],
    ["for kids", "that children can do", "suitable for children"],
    ["on a tight budget", "with very little money", "cheaply"],
    ["if I'm a student", "as a student"],
    ["during pregnancy", "while pregnant", "when you're pregnant"],
    ["in winter", "when it's freezing outside"],
    ["on a Mac", "under macOS", "with an Apple computer"],
    ["offline", "without internet", "with no connection"],
    ["from abroad", "when I live in another country"],
    ["after the deadline", "when the deadline has passed"],
    ["without losing my data", "and keep all my data"],
    ["with a broken screen", "if the screen is cracked"],
    ["in a small flat", "when there's hardly any room"],
    ["at night", "when it's dark"],
    ["for a large family", "for eight people"],
    ["with an allergy", "if I'm allergic"],
    ["in under ten minutes", "in less than 10 minutes"],
    ["as a beginner", "if I've never done it before"],
    ["over the phone", "by calling"],
    ["without my parents knowing", "so that my parents don't notice"],
]


def bare(question):
    return question.rstrip("?.")


def greeted(question):
    start = pick(["", "", "Hi, ", "Hello! ", "Hey there, ", "Quick question: ", "ok so "])
    end = pick(["", "", " Thanks!", " thx", " Please help.", " Many thanks in advance."])
    return start + question + end


def filled(question):
    fillers = two(FILLERS)
    form = R.randrange(4)
    if form == 0:
        return f"{fillers[0]} {question}"
    if form == 1:
        return f"{question} {fillers[0]}"
    if form == 2:
        return f"{fillers[0]} {question} {fillers[1]}"
    return greeted(f"{fillers[0]} {fillers[1]} {question}")


def filler(n):
    for _ in range(n):
        same, others = pick(QUESTIONS)
        a, b = two(same)
        yield filled(a), pick([a, b, greeted(b), filled(b), filled(a)]), 1, "filler"
        other = pick(others)
        if R.random() < 0.5:
            text = pick(FILLERS)
            yield f"{text} {a}", f"{text} {other}", 0, "filler"
        else:
            yield filled(a), pick([other, greeted(other), filled(other)]), 0, "filler"


def condition(n):
    for _ in range(n):
        same, others = pick(QUESTIONS)
        words, others_words = two(CONDITIONS)
        question = bare(pick(same))
        x, y = two(words)
        yield f"{question} {x}?", f"{bare(pick(same))} {y}?", 1, "condition"
        yield f"{question} {x}?", f"{bare(pick(same))} {pick(others_words)}?", 0, "condition"
        yield f"{question} {x}?", pick([question + "?", bare(pick(same)), filled(pick(same))]), 0, "condition"


def added(n):
    """A second request beside the question: its answer would be another."""
    for _ in range(n):
        (same, _), (second, _) = two(QUESTIONS)
        more = pick([pick(second), f"Also, {pick(second)}", f"{pick(FRAMES).format(pick(pick(pick(OPPOSITES))))}"])
        question = pick(same)
        yield question, pick([f"{more} {question}", f"{question} {more}", greeted(f"{more} {question}")]), 0, "added"


# --- roles ---

ACTORS = "foxes|hares|owls|mice|wolves|sheep|lions|zebras|snakes|frogs|spiders|wasps|herons|eels|orcas|seals|cats|rats|hawks|lizards|ladybirds|aphids|ants|termites".split("|")
NAMES = "Nokia|Siemens|Oracle|Volvo|Geely|Renault|Nissan|Disney|Pixar|Adobe|Figma|Intel|Qualcomm|Spain|Portugal|France|Prussia|Rome|Carthage|Sparta|Athens|Anna|Peter|Maria|Tom|Lena|Paul|Chelsea|Arsenal|Ajax|Porto".split("|")
ROLES = [
    # active, passive, converse
    (["Do {a} eat {b}?", "Do {a} prey on {b}?", "are {b} eaten by {a}", "Are {b} a prey of {a}?", "do {b} get eaten by {a}"], ACTORS),
    (["What do {a} do when they hunt {b}?", "how do {a} hunt {b}", "how are {b} hunted by {a}", "In which way do {a} catch {b}?"], ACTORS),
    (["When did {a} buy {b}?", "when was {b} bought by {a}", "When did {b} get acquired by {a}?", "In which year did {a} acquire {b}?", "when was {b} sold to {a}"], NAMES),
    (["Why did {a} sue {b}?", "why was {b} sued by {a}", "what did {a} sue {b} for", "For what reason was {b} taken to court by {a}?"], NAMES),
    (["Did {a} beat {b}?", "was {b} beaten by {a}", "did {b} lose to {a}", "Did {a} win against {b}?"], NAMES),
    (["How did {a} defeat {b}?", "how was {b} defeated by {a}", "How did {b} lose against {a}?"], NAMES),
    (["How much does {a} owe {b}?", "what is the amount that {b} gets from {a}", "How much money is {b} owed by {a}?"], NAMES),
    (["What did {a} learn from {b}?", "what did {b} teach {a}", "What was {a} taught by {b}?"], NAMES),
    (["Is {a} older than {b}?", "is {b} younger than {a}", "Was {a} born before {b}?"], NAMES),
    (["Is {a} bigger than {b}?", "is {b} smaller than {a}", "Is {a} larger in comparison with {b}?"], NAMES),
    (["Did {a} come before {b}?", "did {b} come after {a}", "Was {b} preceded by {a}?"], NAMES),
    (["How do I get from {a} to {b}?", "way to {b} from {a}", "what is the best way to travel to {b} when I start in {a}", "route from {a} to {b}"], "Lyon|Turin|Bern|Kyoto|Osaka|Leeds|Cork|Gdansk|Riga|Bergen|Malmo|Porto|Seville|Bari|Graz|Basel".split("|")),
    (["Convert {a} to {b}", "how do I turn {a} into {b}", "Change a file from {a} to {b}", "make a {b} out of a {a}"], "PDF|DOCX|PNG|JPEG|CSV|JSON|YAML|XML|MP3|WAV|EPUB|HTML".split("|")),
    (["Can I move my data from {a} to {b}?", "is it possible to migrate to {b} from {a}", "How do I switch from {a} to {b}?"], "Gmail|Outlook|Trello|Asana|Notion|Evernote|Slack|Teams|Jira|GitLab|GitHub|MySQL|Postgres|MongoDB".split("|")),
    (["Who lends money to whom, {a} to {b}?", "does {a} lend money to {b}", "does {b} borrow money from {a}"], NAMES),
    (["What did {a} say about {b}?", "what was said about {b} by {a}", "{a}'s comment on {b}"], NAMES),
]


def roles(n):
    for _ in range(n):
        forms, who = pick(ROLES)
        a, b = two(who)
        x, y = two(forms)
        yield x.format(a=a, b=b), y.format(a=a, b=b), 1, "role"
        x, y = pick(forms), pick(forms)
        yield x.format(a=a, b=b), y.format(a=b, b=a), 0, "role"


# --- attributes of one thing ---

ATTRIBUTES = {
    "price": ["What is the price of {}?", "how much does {} cost", "How expensive is {}?", "cost of {}"],
    "size": ["How big is {}?", "what size is {}", "What are the dimensions of {}?"],
    "weight": ["How heavy is {}?", "what does {} weigh", "What's the weight of {}?"],
    "release": ["When was {} released?", "release date of {}", "When did {} come out?"],
    "maker": ["Who makes {}?", "which company produces {}", "Who is the manufacturer of {}?"],
    "colour": ["Which colours does {} come in?", "what colours is {} available in"],
    "warranty": ["How long is the warranty of {}?", "warranty period for {}"],
    "battery": ["How long does the battery of {} last?", "battery life of {}"],
    "memory": ["How much memory does {} have?", "what is the memory of {}"],
    "speed": ["How fast is {}?", "what is the top speed of {}"],
    "review": ["Is {} any good?", "reviews of {}", "what do people think of {}"],
    "where": ["Where can I buy {}?", "which shops sell {}", "where do they sell {}"],
    "repair": ["Who repairs {}?", "where do I get {} repaired", "repair service for {}"],
    "difference": ["What are the alternatives to {}?", "which products are like {}"],
    "manual": ["Where is the manual of {}?", "manual for {} as a PDF"],
}
THINGS = "the Canon R8|a Dyson V11|the Tesla Model Y|the iPad Air|a Vespa Primavera|the Kindle Oasis|a Thermomix TM6|the Garmin Fenix 7|the Fairphone 5|a Bosch GSR 12V|the Sonos One|a Brompton|the Steam Deck|the Moka pot|the DJI Mini 3|a VW ID.3|the Nespresso Vertuo|the Surface Pro|a Roomba i7|the GoPro Hero 11".split("|")
PLACE_ATTRIBUTES = {
    "population": ["What is the population of {}?", "how many people live in {}", "number of inhabitants of {}"],
    "capital": ["What is the capital of {}?", "which city is the capital of {}"],
    "currency": ["What is the currency of {}?", "which money is used in {}", "how do you pay in {}"],
    "language": ["Which language is spoken in {}?", "what do people speak in {}"],
    "area": ["How large is {}?", "what is the area of {}", "How many square kilometres does {} have?"],
    "weather": ["What's the weather like in {}?", "how is the climate in {}"],
    "food": ["What do people eat in {}?", "typical dishes of {}"],
    "time": ["What time is it in {}?", "which time zone is {} in"],
    "president": ["Who governs {}?", "who is the head of state of {}"],
    "flag": ["What does the flag of {} look like?", "colours of the flag of {}"],
    "religion": ["What is the main religion in {}?", "which religion do most people in {} have"],
    "border": ["Which countries border {}?", "neighbouring countries of {}"],
    "safety": ["Is {} safe for tourists?", "how dangerous is {} for travellers"],
    "visit": ["When is the best time to visit {}?", "best season for a trip to {}"],
    "export": ["What does {} export?", "main exports of {}"],
}
PLACES = "Norway|Chile|Kenya|Laos|Nepal|Ghana|Malta|Cuba|Peru|Oman|Fiji|Latvia|Bolivia|Tunisia|Iceland|Uruguay|Mongolia|Panama".split("|")
PEOPLE_ATTRIBUTES = {
    "birth": ["When was {} born?", "date of birth of {}", "in what year was {} born"],
    "place": ["Where was {} born?", "birthplace of {}", "where does {} come from"],
    "death": ["When did {} die?", "in which year did {} die", "date of death of {}"],
    "cause": ["How did {} die?", "what did {} die of", "cause of death of {}"],
    "work": ["What is {} known for?", "why is {} famous", "what did {} do"],
    "family": ["Was {} married?", "who was {} married to"],
    "age": ["How old did {} get?", "at what age did {} die"],
    "children": ["How many children did {} have?", "number of kids of {}"],
    "study": ["Where did {} study?", "which university did {} go to"],
}
PEOPLE = "Marie Curie|Ada Lovelace|Frida Kahlo|Johannes Kepler|Nikola Tesla|Rosa Parks|Emmy Noether|Niels Bohr|Leonhard Euler|Selma Lagerlof|Alan Turing|Clara Schumann|Simon Bolivar|Ernest Shackleton".split("|")


def attributes(n):
    for _ in range(n):
        table, things = pick([(ATTRIBUTES, THINGS), (PLACE_ATTRIBUTES, PLACES), (PEOPLE_ATTRIBUTES, PEOPLE)])
        thing = pick(things)
        one, other = two(list(table))
        x, y = two(table[one])
        yield x.format(thing), y.format(thing), 1, "attribute"
        yield pick(table[one]).format(thing), pick(table[other]).format(thing), 0, "attribute"


# --- opposites by phrase ---

OPPOSITES = [
    (["increase my pension contributions", "pay more into my pension", "raise what I put into my pension"], ["reduce my pension contributions", "pay less into my pension", "put less money into my pension"]),
    (["make the text bigger", "increase the font size", "enlarge the letters"], ["make the text smaller", "decrease the font size", "shrink the letters"]),
    (["speed up my computer", "make my computer faster", "get more speed out of my computer"], ["slow down my computer on purpose", "make my computer run slower"]),
    (["join the mailing list", "get added to the newsletter", "start receiving the newsletter"], ["leave the mailing list", "get taken off the newsletter", "stop receiving the newsletter"]),
    (["let people see my profile", "make my profile public", "show my profile to everybody"], ["keep people from seeing my profile", "make my profile private", "hide my profile from everybody"]),
    (["gain ten pounds", "put on ten pounds", "get heavier by ten pounds"], ["lose ten pounds", "take off ten pounds", "get lighter by ten pounds"]),
    (["let my hair grow", "grow longer hair"], ["cut my hair short", "get shorter hair"]),
    (["warm the room up", "make the room warmer", "raise the temperature in the room"], ["cool the room down", "make the room cooler", "lower the temperature in the room"]),
    (["fall asleep", "get to sleep faster", "get sleepy"], ["stay awake", "keep myself from sleeping", "not fall asleep"]),
    (["open the case", "take the cover off"], ["close the case", "put the cover back on"]),
    (["make the sauce thicker", "thicken the sauce"], ["make the sauce thinner", "thin the sauce down"]),
    (["attract birds to my garden", "get more birds into my garden"], ["keep birds out of my garden", "scare birds away from my garden"]),
    (["get into debt counselling", "start debt counselling"], ["get out of debt counselling", "end debt counselling"]),
    (["allow cookies in the browser", "accept cookies in the browser"], ["block cookies in the browser", "refuse cookies in the browser"]),
    (["connect the headset", "pair the headset"], ["disconnect the headset", "unpair the headset"]),
    (["save battery", "use less battery"], ["drain the battery", "use up the battery"]),
    (["raise my credit score", "improve my credit score"], ["hurt my credit score", "damage my credit score"]),
    (["move to the city", "relocate to the city"], ["move away from the city", "leave the city"]),
    (["turn the volume up", "make it louder"], ["turn the volume down", "make it quieter"]),
    (["accept the offer", "say yes to the offer"], ["turn down the offer", "say no to the offer"]),
    (["add a user to the group", "let a user into the group"], ["remove a user from the group", "throw a user out of the group"]),
    (["lend money to a friend", "give a friend a loan"], ["borrow money from a friend", "get a loan from a friend"]),
    (["keep the bread moist", "stop the bread from drying"], ["dry the bread", "let the bread dry out"]),
    (["check in online", "do the check-in on the web"], ["cancel the online check-in", "undo the online check-in"]),
    (["encourage my son to read", "get my son to read more"], ["discourage my son from gaming", "get my son to play less"]),
    (["build muscle", "gain muscle mass"], ["lose muscle", "reduce muscle mass"]),
    (["lock the door from inside", "bolt the door from the inside"], ["unlock the door from inside", "unbolt the door from the inside"]),
    (["hire more staff", "take on new people"], ["lay off staff", "let people go"]),
    (["upload a file", "send a file to the server"], ["download a file", "get a file from the server"]),
    (["start smoking", "take up smoking"], ["stop smoking", "give up smoking"]),
    (["benefit from the reform", "profit from the reform"], ["suffer from the reform", "lose out by the reform"]),
]
FRAMES = ["How do I {}?", "how can I {}", "What's the best way to {}?", "I'd like to {}", "ways to {}", "help me {}", "what do I have to do to {}", "Is it possible to {}?"]


def opposites(n):
    for _ in range(n):
        plus, minus = pick(OPPOSITES)
        if R.random() < 0.5:
            plus, minus = minus, plus
        x, y = two(plus)
        yield pick(FRAMES[:7]).format(x), pick(FRAMES[:7]).format(y), 1, "opposite"
        yield pick(FRAMES).format(pick(plus)), pick(FRAMES).format(pick(minus)), 0, "opposite"


# --- quantifiers ---

SETS = [("planets", "have rings"), ("students", "passed the exam"), ("countries in the EU", "use the euro"), ("files", "are larger than 1 GB"), ("employees", "work from home"), ("orders", "were shipped late"),
        ("players", "scored a goal"), ("mushrooms", "can be eaten raw"), ("tests", "failed"), ("vaccines", "need a booster"), ("users", "have two-factor login"), ("birds", "fly south"),
        ("rooms", "have a balcony"), ("banks", "charge a fee"), ("servers", "ran out of disk"), ("novels by Jane Austen", "were filmed"), ("metals", "conduct heat well"), ("patients", "got the new drug")]
QUANTIFIERS = {
    "all": ["Do all {s} {v}?", "does it hold that every one of the {s} {v}", "{v}: do all {s} do that, without exception?", "is it true that all of the {s} {v}"],
    "which": ["Which {s} {v}?", "what {s} {v}", "list the {s} that {v}", "name those {s} which {v}"],
    "none": ["Which {s} do not {v}?", "list the {s} that don't {v}", "name the {s} which never {v}"],
    "count": ["How many {s} {v}?", "number of {s} that {v}", "count the {s} that {v}"],
    "most": ["Do most {s} {v}?", "is it true that the majority of {s} {v}"],
    "only": ["Do only {s} {v}?", "are {s} the only ones that {v}"],
    "first": ["Which of the {s} were the first to {v}?", "which {s} were first to {v}"],
    "share": ["What percentage of {s} {v}?", "which share of the {s} {v}"],
    "two": ["Which two {s} {v}?", "name two {s} that {v}"],
    "half": ["Do at least half of the {s} {v}?", "do half of the {s} or more {v}"],
}


def quantifiers(n):
    for _ in range(n):
        s, v = pick(SETS)
        one, other = two(list(QUANTIFIERS))
        x, y = two(QUANTIFIERS[one])
        yield x.format(s=s, v=v), y.format(s=s, v=v), 1, "quantifier"
        yield pick(QUANTIFIERS[one]).format(s=s, v=v), pick(QUANTIFIERS[other]).format(s=s, v=v), 0, "quantifier"


def main():
    from long_questions import long

    kinds = [modality(2500), filler(2500), condition(1500), added(1000), roles(2500), attributes(2000), opposites(2000), quantifiers(1500), long(R, 4000)]
    seen = set()
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        for kind in kinds:
            for a, b, label, name in kind:
                if R.random() < 0.3:
                    a = a[0].lower() + a[1:]
                if R.random() < 0.2:
                    b = b.rstrip("?.")
                key = (min(a, b), max(a, b))
                if a.lower().strip("?. ") == b.lower().strip("?. ") or key in seen:
                    continue
                seen.add(key)
                row = {"a": a, "b": b, "label": label, "source": "deja-generated", "kind": name}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
