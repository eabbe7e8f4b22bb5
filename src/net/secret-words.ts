/**
 * The 256 words that spell a cluster secret, one byte each. Sorted; no two share their first four letters. The order is
 * the meaning: never change it, or written-down secrets stop working.
 */
export const SECRET_WORDS: readonly string[] = `
  able acid aged also amber anchor angle apple april arch arrow atlas aunt autumn award axis bacon badge baker banjo
  basin beach beetle bench berry bison blade blue boat bonus border brick cabin cactus camel candle carbon castle
  cedar chalk cherry circle cliff clover coast coral crown cube daisy dance dawn deer delta denim desk dial dinner
  diver dolphin donkey door dragon drum dune eagle earth easel echo eight elbow elder elm ember empty engine entry
  equal evening exit eyelid fabric falcon farm feather fence fern fiddle field finger flame flute fog forest fox frost
  fudge galaxy garden gecko giant ginger glass globe goat gold grape green guitar gull gym habit hammer harbor hazel
  heart helmet herb hill hobby honey horse hotel house hunter iceberg idea igloo index ink insect iris iron island
  ivory jacket jaguar jelly jewel jigsaw jockey judge juice jungle kayak kernel kettle key kitten kiwi knee knot
  ladder lake lamp lantern laser lava leaf lemon lens lily lime lion lizard lobster lunar magnet mango maple marble
  meadow melon mint mirror moon moss music napkin nectar needle nest nickel night north nutmeg oak oasis ocean olive
  onion opal orange orbit otter oval owl oyster paddle palm panda paper peach pearl pencil pepper piano pine planet
  plum pocket pony prism pumpkin quartz queen quilt rabbit radar raven reef ribbon river robin rocket rose ruby saddle
  salmon sand seed shell silver snow spark spice spoon squid star stone storm sugar swan table tango tiger toast trail
  tulip tunnel violin walnut whale willow winter wolf zebra
`.trim().split(/\s+/);
