// What is said in the pictures, in English and in Arabic.

const CODE = '```js\nconst rate = await quote({ to: \'NO\', kg: 2 });\nshow(`${rate.price} kr`); // with tax\n```';

export const WORDS = {
  en: {
    heading: 'Acme Support',
    page: ['Orders', 'Last month'],
    question: 'What does delivery to Norway cost?',
    half: 'Delivery to Norway takes **three to five days**. Up to two kilograms it costs',
    answer: `Delivery to Norway takes **three to five days**:\n\n| Weight | Price |\n|---|---:|\n| up to 1 kg | 89 kr |\n| up to 2 kg | 119 kr |\n| up to 5 kg | 169 kr |\n\nIn your own code:\n\n${CODE}\n\n- [x] customs are paid\n- [ ] no delivery on *public holidays*`,
    tools: ['Looking up your order…', 'Looked up order 4821', 'Reading the depot', 'Change the address of order 4821 to Storgata 7, Bergen?'],
    first: 'I look up your order first.',
    ask: 'Please send order 4821 to Storgata 7 in Bergen',
    failed: 'Yes: ev',
    effects: 'Address changed',
    titles: ['Delivery to Norway', 'A return without a label', 'Invoice for October with the new address and a very long subject', 'Opening hours in December', ''],
    asks: 'What happens to unused days?',
    sourced: 'Unused days move to the next year [1] until the end of March [2].',
    sources: ['Leave policy', 'Carrying leave over, with exceptions', 'Handbook, printed'],
    more: ['How many are left?', 'You have **six days** left this year.'],
  },
  ar: {
    heading: 'دعم أكمي',
    page: ['الطلبات', 'الشهر الماضي'],
    question: 'كم تكلفة التوصيل إلى النرويج؟',
    half: 'يستغرق التوصيل إلى النرويج **من ثلاثة إلى خمسة أيام**. حتى كيلوغرامين يكلّف',
    answer: `يستغرق التوصيل إلى النرويج **من ثلاثة إلى خمسة أيام**:\n\n| الوزن | السعر |\n|---|---:|\n| حتى 1 كغ | 89 كرونة |\n| حتى 2 كغ | 119 كرونة |\n| حتى 5 كغ | 169 كرونة |\n\nفي شيفرتك:\n\n${CODE}\n\n- [x] الجمارك مدفوعة\n- [ ] لا توصيل في *العطل الرسمية*`,
    tools: ['جارٍ البحث عن طلبك…', 'عُثر على الطلب 4821', 'قراءة المستودع', 'هل تغيّر عنوان الطلب 4821 إلى Storgata 7, Bergen؟'],
    first: 'سأبحث عن طلبك أولاً.',
    ask: 'أرجو إرسال الطلب 4821 إلى Storgata 7 في بيرغن',
    failed: 'نعم: كل',
    effects: 'تم تغيير العنوان',
    titles: ['التوصيل إلى النرويج', 'إرجاع بدون ملصق', 'فاتورة أكتوبر مع العنوان الجديد وموضوع طويل جداً لا يتسع له السطر', 'ساعات العمل في ديسمبر', ''],
    asks: 'ماذا يحدث للأيام غير المستخدمة؟',
    sourced: 'تنتقل الأيام غير المستخدمة إلى السنة التالية [1] حتى نهاية مارس [2].',
    sources: ['سياسة الإجازات', 'ترحيل الإجازات مع الاستثناءات', 'الدليل المطبوع'],
    more: ['كم بقي منها؟', 'بقي لك **ستة أيام** هذا العام.'],
  },
};
