"""Words of English that tell a name from a word with a capital. Facts of the language, from no benchmark."""

NEVER = frozenset(
    """
    i me my mine we us our you your he him his she her it its they them their who what which whose when where why how
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun january
    february march april may june july august september october november december jan feb mar apr jun jul aug sep sept
    oct nov dec spring summer autumn fall winter birthday christmas xmas easter halloween thanksgiving hanukkah
    ramadan diwali new-year valentine english french german spanish italian chinese japanese korean russian portuguese
    dutch arabic hindi greek latin american british canadian australian indian mexican brazilian african asian
    european irish scottish swedish polish turkish thai vietnamese jewish christian muslim catholic buddhist hindu
    islam god bible mom mum mommy mummy dad daddy mama papa grandma grandpa granny grandmother grandfather mother
    father sis bro hi hello hey dear bye goodbye thanks thank cheers welcome wow oh ah oops yay yeah yes no nope ok
    okay sure please sorry congrats congratulations lol omg haha hmm ugh well tv ai pc id cv hr ceo cto cfo vip diy
    faq asap fyi btw imo tbh am pm ps eta rsvp url html css sql api pdf usb gps sms dvd cd dna rna ok'd todo note nb
    ie eg etc vs aka mr mrs ms dr prof phd md ba bsc ma msc mba bc ad gpa internet web wifi wi-fi email e-mail app
    apps chapter section figure table page part step day week month year true false none null user assistant system
    human
    """.split()
)
"""No name by themselves, wherever they stand: pronouns, days, months, feasts, peoples, kin, greetings."""

STARTERS = frozenset(
    """
    a an the this that these those some any each every both either neither all most many much more few several such
    another other one two three four five six seven eight nine ten first second third last next half and or but nor so
    yet if then than because as while though although unless until since once whether of at by for with about against
    between into through to from in on out off over under near beside besides without within across along around
    behind beyond despite during except inside outside toward towards upon via per unlike like after before above
    below up down is am are was were be been being do does did done have has had having will would shall should can
    could may might must ought let lets let's don't doesn't didn't isn't aren't wasn't weren't won't wouldn't can't
    couldn't shouldn't haven't hasn't hadn't ain't not never there here now today tomorrow yesterday tonight later
    soon again still already just only even also too very really maybe perhaps probably actually anyway anyways
    however moreover meanwhile otherwise instead therefore thus hence sometimes often always usually twice finally
    lately recently ask tell call meet met see saw seen seeing visit visited find found give gave get got go going
    went come came take took make made say said says think thought know knew want wanted need needed use used try
    tried help helped keep kept look looked looking watch watched read show showed send sent bring brought buy bought
    put set start started stop stopped work worked play played run ran move moved live lived love loved hate hated
    miss missed hope hoping wish guess remember forget told talk talked talking speak spoke hear heard feel felt leave
    left turn turned join joined wait check follow add remove open close click press write wrote draw drew sign signed
    pay paid eat ate drink drank sleep drive drove fly flew walk walked learn learned learnt teach taught study
    studied plan planned invite invited marry married thank born happy glad sad excited proud lucky poor old young
    little big great good nice best better bad worse worst sorry busy tired sick free funny beautiful lovely sweet
    true right wrong people someone somebody everyone everybody nobody anyone anybody something nothing everything
    anything none friend friends colleague colleagues cousin cousins brother brothers sister sisters mother father
    uncle aunt auntie son daughter husband wife partner boss boyfriend girlfriend neighbor neighbour neighbors
    neighbours roommate kids children child baby man woman men women guy guys girl girls boy boys team family parents
    doctor doctors nurse teacher teachers professor professors coach manager student students engineer lawyer
    detective officer captain king queen president minister senator mayor judge pope prince princess client clients
    customer customers time times morning afternoon evening night day days week weekend month year years home house
    school office department life world music art news food dinner lunch breakfast coffee tea book books movie movies
    film song game games story photo photos picture pictures video question questions answer answers idea ideas thing
    things way place point reason fact problem issue example update summary total price order project projects task
    tasks meeting plans trip travel fun luck weather rain snow sun sea water money health job jobs company service
    version subject re fwd attn ps note notes list lists item items name names type title date address phone number
    city country state street road room kitchen garden car train plane bus bike dog dogs cat cats pet pets you
    speaking based according regarding given thanks special public private national international local general real
    whole full long short high low early late hard easy hot cold black white red green blue yellow why how what which
    who whom whose when where new fellow former dearest darling honey sweetie buddy dude bro bestie
    """.split()
)
"""Words that begin sentences and titles of lines; with a capital there they say nothing."""

GIVEN_NAMES = frozenset(
    """
    aaron abby abdul abigail adam adele adrian ahmed aisha alan albert alejandro alex alexander alexandra alfred alice
    alicia alina allison amanda amelia amir amy ana anastasia andre andrea andrew andy angela anita anna anne annie
    anthony antonio anya ariana arjun arthur ashley astrid audrey austin ava barbara beatrice becky ben benjamin
    bernard beth betty beverly bjorn bob bobby boris brandon brenda brian bridget brittany bruno bruce camila carl
    carla carlos carmen carol caroline catherine cecilia charles charlie charlotte chen chloe chris christina
    christine christopher claire clara claudia colin connor craig cynthia daniel daniela danny david deborah debra
    deepak denise dennis derek diana diego dmitri dominic donald donna doris dorothy douglas dylan edith eduardo
    edward eileen elena eleanor elizabeth ella ellen elsa emily emma eric erica erik ernest esther ethan eugene eva
    evan evelyn fatima felix fernando fiona florence frances francesca francis francisco frederick gabriel gareth gary
    geoffrey george gerald gina giulia gloria gordon gregory greta gustavo hannah hans harold harriet harry hassan
    heidi helen helena henry hiroshi howard hugo ian ibrahim ines ingrid irene isaac isabel isabella ivan jacob
    jacqueline jake james jamie jane janet janice jason jasmine javier jeff jeffrey jennifer jenny jeremy jerry jesse
    jessica jill jim jimmy joan joanna joao joe joel johan john johnny jonas jonathan jordan jorge jose joseph josh
    joshua juan judith judy julia julian julie kai karen karl kate katherine kathleen kathy katie keith kelly ken
    kenji kenneth kevin khadija kim kimberly kyle lars laura lauren layla leah lena leo leon leonard leonardo lewis
    liam lin linda lisa logan louis louise lucas lucia lucy luigi luis luke lydia madison magda malik marco marcus
    margaret maria marie marina mario marta martha martin mary mateo matt matthew maureen maurice megan melanie
    melissa mia michael michelle miguel mike mila miriam mohamed mohammed molly monica muhammad nadia naomi nancy
    natalie natasha nathan neil nicholas nicole nigel nikolai nina noah nora norma oleg oliver olivia omar oscar owen
    pablo pamela patricia patrick paul paula pedro peter petra philip philippe phoebe pierre priya rachel rafael rahul
    raj ralph ramon raymond rebecca ricardo richard rita robert roberta robin roger roland ronald rosa rosemary rosie
    ross ruth ryan sabrina sally samantha samuel sam sandra sanjay santiago sara sarah scott sean sebastian sergei
    shannon sharon sheila simon sofia sonia sophia sophie stefan stella stephanie stephen steve steven stuart sunita
    susan suzanne sven svetlana sylvia tamara tanya tara ted teresa theo theresa thomas tiffany timothy tim tina
    tobias todd tom tommy tony tracy trevor tyler ursula valentina valerie vanessa vera veronica victor victoria
    vikram vincent viktor vivian vladimir walter wanda wayne wendy wesley william xavier yasmin yolanda yuki yusuf
    yvonne zachary zoe bella greg dan dave nick kathryn anton ali amit anil aya
    """.split()
)
"""Common given names of many countries that are no words of English: trusted at the start of a sentence, too."""

PLACE_ENDS = frozenset(
    """
    street avenue road lane boulevard square park lake river mountain mountains beach island islands bay valley
    airport station bridge city county harbor harbour hill hills falls forest desert canyon peninsula village town
    coast creek
    """.split()
)
ORGANISATION_ENDS = frozenset(
    """
    inc ltd llc corp corporation company co gmbh plc university college institute academy bank hospital clinic
    foundation airlines airways agency association school society labs laboratories group holdings ministry committee
    """.split()
)
PLACES = frozenset(
    """
    afghanistan algeria argentina australia austria bangladesh belgium bolivia brazil bulgaria cambodia cameroon
    canada chile china colombia croatia cuba cyprus denmark ecuador egypt england estonia ethiopia finland france
    germany ghana greece hungary iceland india indonesia iran iraq ireland israel italy jamaica japan kenya korea laos
    latvia lebanon lithuania luxembourg malaysia malta mexico mongolia morocco nepal netherlands nigeria norway
    pakistan panama peru philippines poland portugal qatar romania russia scotland senegal serbia singapore slovakia
    slovenia spain sweden switzerland syria taiwan tanzania thailand tunisia uganda ukraine uruguay venezuela vietnam
    wales zambia zimbabwe africa asia europe antarctica america usa uk uae amsterdam athens auckland baghdad bangkok
    barcelona beijing beirut belgrade berlin bogota boston brisbane brussels bucharest budapest cairo calgary
    casablanca chengdu chicago copenhagen dallas delhi denver detroit dubai dublin edinburgh frankfurt geneva glasgow
    guangzhou hamburg hangzhou hanoi havana helsinki honolulu houston istanbul jakarta jerusalem johannesburg karachi
    kathmandu kyoto lagos lima lisbon liverpool london lyon madrid manchester manila marseille melbourne miami milan
    montreal moscow mumbai munich nairobi nanjing naples osaka oslo ottawa paris philadelphia portland porto prague
    rome rotterdam santiago seattle seoul shanghai shenzhen stockholm stuttgart suzhou sydney taipei tehran tokyo
    toronto valencia vancouver venice vienna warsaw wellington wuhan xi'an zagreb zurich california florida texas
    hawaii alaska oregon ohio michigan arizona colorado bavaria tuscany catalonia new-york new-zealand new-orleans
    new-delhi los-angeles san-francisco san-diego las-vegas hong-kong south-korea north-korea south-africa
    saudi-arabia united-states united-kingdom rio-de-janeiro buenos-aires mexico-city cape-town kuala-lumpur tel-aviv
    costa-rica sri-lanka st-petersburg salt-lake-city
    """.split()
)
"""Countries, regions and cities that are no person's usual name; words of one name joined by hyphens."""

BOTH_WORD_AND_NAME = frozenset(
    """
    will may mark grant bill drew sue rob pat hope grace joy rose art rich frank dawn april june august jack gene
    faith chance dean max ray jay amber ruby olive ivy lily daisy iris heather holly penny ginger sunny angel guy
    chase hunter carter parker mason cooper baker taylor page case miles wade lane reed rusty buddy star sky rocky
    honey
    """.split()
)
"""Given names that are words, too: a person inside a sentence only."""
